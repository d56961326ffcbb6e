"""The recurrent networks of `nnabla.utils.rnn`, composed of other functions, and those of `nnabla.functions`."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla.utils import rnn as networks

STEPS, BATCH, INPUTS, UNITS = 4, 3, 5, 2
GATES = {"rnn": (), "gru": (3,), "lstm": (4,)}
COMPOSED = {
    "rnn": networks._create_fixed_length_rnn,
    "gru": networks._create_fixed_length_gru,
    "lstm": networks._create_fixed_length_lstm,
}


def _variables(kind, layers, directions, steps):
    rng = np.random.default_rng(3)
    states = [(layers, directions, BATCH, UNITS)] * (2 if kind == "lstm" else 1)
    shapes = [
        (steps, BATCH, INPUTS),
        *states,
        (directions, *GATES[kind], UNITS, INPUTS + UNITS),
        (max(layers - 1, 1), directions, *GATES[kind], UNITS, directions * UNITS + UNITS),
        (layers, directions, *((4,) if kind == "gru" else GATES[kind]), UNITS),
    ]
    arrays = [0.4 * rng.standard_normal(shape).astype("float32") for shape in shapes]
    return [nn.Variable.from_numpy_array(a).apply(need_grad=True) for a in arrays]


def _values_and_gradients(outputs, inputs):
    for x in inputs:
        x.grad.zero()
    total = sum(F.sum(F.sin(y + i)) for i, y in enumerate(outputs))
    total.forward()
    total.backward()
    return [y.d.copy() for y in outputs], [x.g.copy() for x in inputs]


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("layers, directions, steps", [(1, 1, STEPS), (3, 1, STEPS), (2, 2, STEPS), (2, 2, 1)])
@pytest.mark.parametrize("kind, nonlinearity", [("rnn", "tanh"), ("rnn", "relu"), ("gru", None), ("lstm", None)])
def test_composed_networks_are_those_of_functions(kind, nonlinearity, layers, directions, steps, with_bias):
    *inputs, w, b = _variables(kind, layers, directions, steps)
    chosen = {} if nonlinearity is None else {"nonlinearity": nonlinearity}
    composed = COMPOSED[kind](
        *inputs, w, b, num_layers=layers, num_directions=directions, with_bias=with_bias, **chosen
    )
    read = [*inputs, *([w] if layers > 1 else []), *([b] if with_bias else [])]
    values, gradients = _values_and_gradients(composed, read)
    whole = getattr(F, kind)(
        *inputs,
        weight=w if layers > 1 else None,
        bias=b if with_bias else None,
        num_layers=layers,
        bidirectional=directions == 2,
        **chosen,
    )
    expected_values, expected_gradients = _values_and_gradients(whole, read)
    assert [v.shape for v in values] == [v.shape for v in expected_values]
    for found, expected in zip(values + gradients, expected_values + expected_gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5 * np.abs(expected).max())
