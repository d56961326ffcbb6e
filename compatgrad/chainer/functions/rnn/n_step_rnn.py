"""Stacked recurrent networks over sequences of different lengths: their shared code, and the plain network."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.separate import separate
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.connection.linear import linear
from compatgrad.chainer.functions.noise.dropout import dropout
from compatgrad.chainer.functions.rnn._layer import rnn_layer as _rnn_layer
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_ACTIVATIONS = ("tanh", "relu")
# The gradients of a gate's two biases have the same values, but must be two arrays: optimizer hooks write into
# gradients.
add_apart = frontend.bind("add_apart", dtype="same")


def _check_arguments(ws, xs, kwargs):
    """Raises errors for removed keywords of older Chainer versions, and for inputs that the first weights do not
    fit."""
    if kwargs:
        advice = "argument is not supported anymore. Use chainer.using_config"
        argument.check_unexpected_kwargs(kwargs, train=f"train {advice}", use_cudnn=f"use_cudnn {advice}")
        argument.assert_kwargs_empty(kwargs)
    x_in, w_in = xs[0].shape[1], ws[0][0].shape[1]
    if x_in != w_in:
        raise ValueError(f"Inconsistent input size in input values and weight parameters: {x_in} != {w_in}")


def _cut(state, batch):
    return (None, None) if state is None else split_axis(state, [batch], axis=0)


def _one_direction(mode, weights, x, batches, backward, h, c):
    """Runs one layer on `x`, in which the samples of all steps follow each other; returns all outputs, and the last h
    and c. One product multiplies the inputs of all steps by their weights; only the state's product has to wait for the
    previous step.
    """
    w_x, b_x, w_h, b_h = weights
    runs = [(batch, len(list(steps))) for batch, steps in itertools.groupby(batches)]
    rows = list(itertools.accumulate(batch * steps for batch, steps in runs))
    parts = list(zip(split_axis(linear(x, w_x, b_x), rows[:-1], axis=0), runs, strict=True))
    ys = []
    for part, (batch, steps) in reversed(parts) if backward else parts:
        rest = None
        if len(h) > batch:  # shorter sequences, which are the last rows, take no part in these steps
            (h, *rest), (c, *more) = (_cut(s, batch) for s in (h, c))
            rest += more
        part = reshape(part, (steps, batch, part.shape[1]))
        y = _rnn_layer(part, h, c, w_h, b_h, mode=mode, order="ifao", reverse=backward)
        y = y if isinstance(y, tuple) else (y,)
        out, *cells = (reshape(v, (steps * batch, v.shape[2])) for v in y[: 1 if c is None else 2])
        ys.append(out)
        last = 0 if backward else (steps - 1) * batch
        h, c = [v if steps == 1 else v[last : last + batch] for v in (out, *cells)] + [None] * (c is None)
        if rest is not None:
            h, c = (None if s is None else concat([s, r], axis=0) for s, r in zip((h, c), rest, strict=True))
    ys = ys[::-1] if backward else ys
    return ys[0] if len(ys) == 1 else concat(ys, axis=0), h, c


def _run_layers(mode, weights, n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction):
    """Runs layers of `mode` ("lstm", "gru", "rnn_tanh", "rnn_relu"). Returns (hy, cy or None, tuple of outputs).

    `weights` turns one layer's weights and biases into (w_x, b_x, w_h, b_h): those of the inputs and those of the
    state.
    """
    hx = separate(hx)
    cx = [None] * len(hx) if cx is None else separate(cx)
    batches = [len(x) for x in xs]
    hy, cy, y = [], [], concat(xs, axis=0)
    for layer in range(n_layers):
        outputs = []
        for direction in range(2 if use_bi_direction else 1):
            x = y if layer == 0 else dropout(y, ratio=dropout_ratio)
            k = len(hy)
            out, h, c = _one_direction(mode, weights(ws[k], bs[k]), x, batches, direction == 1, hx[k], cx[k])
            hy.append(h)
            cy.append(c)
            outputs.append(out)
        y = concat(outputs, axis=1) if use_bi_direction else outputs[0]
    ys = split_axis(y, list(itertools.accumulate(batches))[:-1], axis=0)
    return stack(hy), None if cy[0] is None else stack(cy), tuple(ys)


def n_step_rnn_impl(
    f: Callable[..., tuple[Variable, Variable | None]],
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    cx: VariableOrArray | None,
    ws: Sequence[Any],
    bs: Sequence[Any],
    xs: Sequence[VariableOrArray],
    use_bi_direction: bool,
) -> tuple[Variable, Variable | None, tuple[Variable, ...]]:
    """Runs a stacked network step by step with the cell `f`.

    Args:
        f: `f(x, h, c, w, b)` gives the next h and c for the inputs x of one step; c is None if `cx` is. `w` and `b`
            are the layer's entries of `ws` and `bs`.
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units), or (2 layers, b, units) for both directions: first state of each layer.
        cx: first cell of each layer, of the shape of `hx`; None for none.
        ws: the argument `w` of `f`, for each layer and direction.
        bs: the argument `b` of `f`, for each layer and direction.
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        use_bi_direction: True runs each layer in both directions.

    Returns:
        The last states; the last cells, or None; and a tuple with the outputs of the last layer for each step.

    Raises:
        IndexError: `hx`, `ws` or `bs` has fewer entries than there are layers and directions.

    Example:
        >>> def cell(x, h, c, w, b):
        ...     return w * h + x, None
        >>> hx, xs = np.zeros((1, 1, 1)), [np.array([[1.0]]), np.array([[1.0]])]
        >>> hy, _, ys = F.rnn.n_step_rnn.n_step_rnn_impl(cell, 1, 0.0, hx, None, [0.5], [None], xs, False)
        >>> hy.array, [y.array for y in ys]
        (array([[[1.5]]]), [array([[1.]]), array([[1.5]])])

    Source: `chainer.functions.rnn.n_step_rnn.n_step_rnn_impl` of Chainer 7.8.1.
    """
    hx = separate(hx)
    cx = [None] * len(hx) if cx is None else separate(cx)
    hy, cy = [], []
    for layer in range(n_layers):
        if layer > 0:
            xs = [dropout(x, ratio=dropout_ratio) for x in xs]
        outputs = []
        for backward in (False, True)[: 1 + use_bi_direction]:
            k = len(hy)
            h, c, ys = _one_directional_loop(f, xs[::-1] if backward else xs, hx[k], cx[k], ws[k], bs[k])
            hy.append(h)
            cy.append(c)
            outputs.append(ys[::-1] if backward else ys)
        xs = [concat(pair, axis=1) for pair in zip(*outputs, strict=True)] if use_bi_direction else outputs[0]
    return stack(hy), None if cy[0] is None else stack(cy), tuple(xs)


def _one_directional_loop(f, xs, h, c, w, b):
    ys = []
    for x in xs:
        batch, rest = len(x), None
        if len(h) > batch:
            (h, *rest), (c, *more) = (_cut(s, batch) for s in (h, c))
            rest += more
        h, c = f(x, h, c, w, b)
        ys.append(h)
        if rest is not None:
            h, c = (None if s is None else concat([s, r], axis=0) for s, r in zip((h, c), rest, strict=True))
    return h, c, ys


_CUDNN = """The class of cuDNN's {name} in Chainer. Making an instance raises RuntimeError: `{instead}` computes the
same on all devices.

Args:
    *args: anything; there is no instance.
    **kwargs: anything.

Raises:
    RuntimeError: always.

Example:
    >>> from {module} import {name}
    >>> {name}()
    Traceback (most recent call last):
        ...
    RuntimeError: {name} is cuDNN's. Call n_step_rnn, n_step_lstm or n_step_gru instead.

Source: `{original}.{name}` of Chainer 7.8.1.
"""


class BaseNStepRNN:
    __doc__ = _CUDNN.format(
        name="BaseNStepRNN", instead="n_step_rnn", module=__name__, original=__name__.partition(".")[2]
    )

    def __init_subclass__(cls, instead: str | None = None, **kwargs: Any) -> None:
        """`instead`: the function to call, which is named in the docstring of the class."""
        super().__init_subclass__(**kwargs)
        if instead is not None:
            module = cls.__module__
            original = module.partition(".")[2]
            cls.__doc__ = _CUDNN.format(name=cls.__name__, instead=instead, module=module, original=original)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} is cuDNN's. Call n_step_rnn, n_step_lstm or n_step_gru instead.")


class NStepRNNTanh(BaseNStepRNN, instead="n_step_rnn"):
    pass


class NStepRNNReLU(BaseNStepRNN, instead="n_step_rnn"):
    pass


class NStepBiRNNTanh(BaseNStepRNN, instead="n_step_birnn"):
    pass


class NStepBiRNNReLU(BaseNStepRNN, instead="n_step_birnn"):
    pass


def _plain_weights(w, b):
    return w[0], add_apart(b[0], b[1]), w[1], None


def n_step_rnn_base(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    activation: str,
    use_bi_direction: bool,
    **kwargs: Any,
) -> tuple[Variable, tuple[Variable, ...]]:
    """The common implementation of `n_step_rnn` and `n_step_birnn`: stacked plain recurrent layers in one direction or
    both.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units), or (2 layers, b, units) for both directions: first state of each layer.
        ws: for each layer and direction, two weights: of the input (units, in), then of the state (units, units).
        bs: for each layer and direction, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        activation: "tanh" or "relu".
        use_bi_direction: True runs each layer in both directions.
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states, of the shape of `hx`, and a tuple with the outputs (b, units) of the last layer for each step,
        or (b, 2 units) for both directions.

    Raises:
        ValueError: `activation` has another value, the first weights do not fit the length of the inputs, or a removed
            option of older Chainer versions is given.

    Example:
        >>> hx, ws, bs = np.zeros((2, 2, 1)), [[np.ones((1, 1))] * 2] * 2, [[np.zeros(1)] * 2] * 2
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, ys = F.rnn.n_step_rnn.n_step_rnn_base(1, 0.0, hx, ws, bs, xs, activation="tanh", use_bi_direction=True)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((2, 2, 1), [(2, 2), (1, 2)], array([[0.9427],
               [0.964 ]]))

    Source: `chainer.functions.rnn.n_step_rnn.n_step_rnn_base` of Chainer 7.8.1.
    """
    if activation not in _ACTIVATIONS:
        raise ValueError(f'Invalid activation: "{activation}". Please select from [{",".join(_ACTIVATIONS)}]')
    _check_arguments(ws, xs, kwargs)
    mode = f"rnn_{activation}"
    hy, _, ys = _run_layers(mode, _plain_weights, n_layers, dropout_ratio, hx, None, ws, bs, xs, use_bi_direction)
    return hy, ys


def n_step_rnn(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    activation: str = "tanh",
    **kwargs: Any,
) -> tuple[Variable, tuple[Variable, ...]]:
    """Stacked plain recurrent layers over sequences of different lengths.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (layers, b, units): first state of each layer.
        ws: for each layer, two weights: of the input (units, in), then of the state (units, units).
        bs: for each layer, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        activation: "tanh" or "relu".
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states, of the shape of `hx`, and a tuple with the outputs (b, units) of the last layer for each step.

    Raises:
        ValueError: `activation` has another value, the first weights do not fit the length of the inputs, or a removed
            option of older Chainer versions is given.

    Example:
        >>> hx, ws, bs = np.zeros((1, 2, 1)), [[np.ones((1, 1))] * 2], [[np.zeros(1)] * 2]
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, ys = F.n_step_rnn(1, 0.0, hx, ws, bs, xs)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((1, 2, 1), [(2, 1), (1, 1)], array([[0.9427],
               [0.964 ]]))

    Source: `chainer.functions.n_step_rnn` of Chainer 7.8.1.
    """
    return n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=False, **kwargs)


def n_step_birnn(
    n_layers: int,
    dropout_ratio: float,
    hx: VariableOrArray,
    ws: Sequence[Sequence[VariableOrArray]],
    bs: Sequence[Sequence[VariableOrArray]],
    xs: Sequence[VariableOrArray],
    activation: str = "tanh",
    **kwargs: Any,
) -> tuple[Variable, tuple[Variable, ...]]:
    """Stacked plain recurrent layers in both directions over sequences of different lengths.

    Args:
        n_layers: the number of layers.
        dropout_ratio: dropout probability, in [0, 1), of the inputs of all layers but the first.
        hx: floating, (2 layers, b, units): first state of each layer, the two directions of a layer one after the
            other.
        ws: for each layer and direction, two weights: of the input (units, in), then of the state (units, units).
        bs: for each layer and direction, as many biases (units,).
        xs: for each step, inputs (b, in) of the b sequences that reach this step, the longest sequence first.
        activation: "tanh" or "relu".
        **kwargs: none; those of old versions are refused.

    Returns:
        The last states, of the shape of `hx`, and a tuple with the outputs (b, 2 units) of the last layer for each
        step, both directions side by side.

    Raises:
        ValueError: `activation` has another value, the first weights do not fit the length of the inputs, or a removed
            option of older Chainer versions is given.

    Example:
        >>> hx, ws, bs = np.zeros((2, 2, 1)), [[np.ones((1, 1))] * 2] * 2, [[np.zeros(1)] * 2] * 2
        >>> xs = [np.array([[1.0], [2.0]]), np.array([[1.0]])]  # the first sequence has two steps, the second one
        >>> hy, ys = F.n_step_birnn(1, 0.0, hx, ws, bs, xs)
        >>> hy.shape, [y.shape for y in ys], hy.array[0].round(4)
        ((2, 2, 1), [(2, 2), (1, 2)], array([[0.9427],
               [0.964 ]]))

    Source: `chainer.functions.n_step_birnn` of Chainer 7.8.1.
    """
    return n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=True, **kwargs)
