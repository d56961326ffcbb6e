"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import functions as F
from .. import parameter
from ..logger import logger
from ..parameter import get_parameter
from ..variable import Variable
from ._api import parametric_function_api
from ._common import bias, glorot, weight
from .affine import affine

__all__ = ["LSTMCell", "gru", "lstm", "lstm_cell", "rnn"]


def _stacked(rng, inputs: int, hidden: int, lead: Sequence[int]) -> np.ndarray:
    """Weights of the inputs, then those of the state, each drawn as Glorot has it."""
    parts = [glorot(rng, n, hidden)((*lead, hidden, n)) for n in (inputs, hidden)]
    return np.concatenate(parts, axis=-1)


_RNN = [
    ("weight_l0", "weights of the first layer", "(D, H, I + H)", True),
    ("weight", "weights of the other layers", "(L - 1, D, H, D * H + H)", True),
    ("bias", "biases", "(L, D, H)", True),
]


@parametric_function_api("rnn", _RNN)
def rnn(
    x,
    h,
    w0_init=None,
    w_init=None,
    b_init=None,
    num_layers=1,
    nonlinearity="tanh",
    dropout=0.0,
    bidirectional=False,
    training=True,
    rng=None,
    with_bias=True,
    fix_parameters=False,
):
    """Elman network of L layers over a sequence: all outputs, (T, B, D * H), and the last states, like `h`.

    `x` has shape (T, B, I) and `h` shape (L, D, B, H), D being 2 if `bidirectional` and 1 otherwise;
    `num_layers` is taken from `h`. `nonlinearity` is "tanh" or "relu". `w0_init`, `w_init` (Glorot's uniform
    by default) and `b_init` (zeros) are initializers or arrays, `rng` the random state of the defaults. Elman
    1990.
    """
    inputs, hidden = x.shape[2], h.shape[3]
    layers, directions = h.shape[0], 2 if bidirectional else 1
    # drawn even where the parameters exist: the generator goes on as in the original
    if w0_init is None:
        w0_init = _stacked(rng, inputs, hidden, (directions,))
    if w_init is None:
        w_init = _stacked(rng, directions * hidden, hidden, (layers - 1, directions))
    w0 = weight("weight_l0", (directions, hidden, inputs + hidden), w0_init, fix_parameters)
    w = None
    if layers > 1:
        shape = (layers - 1, directions, hidden, directions * hidden + hidden)
        w = weight("weight", shape, w_init, fix_parameters)
    b = bias((layers, directions, hidden), b_init, fix_parameters, with_bias, name="bias")
    return F.rnn(
        x,
        h,
        weight_l0=w0,
        weight=w,
        bias=b,
        num_layers=layers,
        nonlinearity=nonlinearity,
        dropout=dropout,
        bidirectional=bidirectional,
        training=training,
    )


def _found_or_made(name, shape, init, make, fix):
    """The parameter `name`; `make` gives the start of a new one without `init`."""
    found = get_parameter(name)
    if found is None:
        return weight(name, shape, make() if init is None else init, fix)
    if found.shape != tuple(shape) and found.size == np.prod(shape):
        logger.warning(
            f"The parameter {name!r} of shape {found.shape} comes from an old version. It is taken as one of "
            f"shape {tuple(shape)}; better train and save it anew."
        )
        found = Variable.from_numpy_array(found.d.reshape(shape), need_grad=found.need_grad)
        parameter.set_parameter(name, found)
    if found.shape != tuple(shape):
        raise ValueError(f"parameter {name!r} has shape {found.shape} already, but {tuple(shape)} is needed")
    return found.get_unlinked_variable(need_grad=not fix and not parameter.current_no_grad)


def _gated(gates, x, h, w0_init, w_init, b_init, bidirectional, rng, with_bias, fix):
    """Weights of the first layer, those of the others and biases, of a network with `gates` gates.

    A GRU has a fourth bias: its candidate state adds those of the input and of the state apart.
    """
    inputs, hidden = x.shape[2], h.shape[3]
    layers, directions = h.shape[0], 2 if bidirectional else 1
    size = directions * hidden
    w0 = _found_or_made(
        "weight_l0",
        (directions, gates, hidden, inputs + hidden),
        w0_init,
        lambda: _stacked(rng, inputs, hidden, (directions, gates)),
        fix,
    )
    w = b = None
    if layers > 1:
        w = _found_or_made(
            "weight",
            (layers - 1, directions, gates, hidden, size + hidden),
            w_init,
            lambda: _stacked(rng, size, hidden, (layers - 1, directions, gates)),
            fix,
        )
    if with_bias:
        shape = (layers, directions, 4, hidden)
        b = _found_or_made("bias", shape, b_init, lambda: np.zeros(shape, np.float32), fix)
    return w0, w, b


def _gate_descriptions(gates):
    return [
        ("weight_l0", "weights of the first layer", f"(D, {gates}, H, I + H)", True),
        ("weight", "weights of the other layers", f"(L - 1, D, {gates}, H, D * H + H)", True),
        ("bias", "biases", "(L, D, 4, H)", True),
    ]


@parametric_function_api("lstm", _gate_descriptions(4))
def lstm(
    x,
    h,
    c,
    w0_init=None,
    w_init=None,
    b_init=None,
    num_layers=1,
    dropout=0.0,
    bidirectional=False,
    training=True,
    rng=None,
    with_bias=True,
    fix_parameters=False,
):
    """LSTM of L layers over a sequence: all outputs, (T, B, D * H), the last states and the last cells.

    `c` has the shape of `h`; other arguments as in `rnn`. Raises ValueError for an int as `w0_init`, which
    means the arguments of `lstm_cell`. Hochreiter and Schmidhuber 1997.
    """
    if isinstance(w0_init, int):
        raise ValueError("lstm: w0_init is an int; the function of a single step, PF.lstm_cell, takes a state_size")
    w0, w, b = _gated(4, x, h, w0_init, w_init, b_init, bidirectional, rng, with_bias, fix_parameters)
    return F.lstm(
        x,
        h,
        c,
        weight_l0=w0,
        weight=w,
        bias=b,
        num_layers=h.shape[0],
        dropout=dropout,
        bidirectional=bidirectional,
        training=training,
    )


@parametric_function_api("gru", _gate_descriptions(3))
def gru(
    x,
    h,
    w0_init=None,
    w_init=None,
    b_init=None,
    num_layers=1,
    dropout=0.0,
    bidirectional=False,
    training=True,
    rng=None,
    with_bias=True,
    fix_parameters=False,
):
    """GRU of L layers over a sequence: all outputs, (T, B, D * H), and the last states.

    Arguments as in `rnn`. Cho et al. 2014, https://arxiv.org/abs/1406.1078.
    """
    w0, w, b = _gated(3, x, h, w0_init, w_init, b_init, bidirectional, rng, with_bias, fix_parameters)
    return F.gru(
        x,
        h,
        weight_l0=w0,
        weight=w,
        bias=b,
        num_layers=h.shape[0],
        dropout=dropout,
        bidirectional=bidirectional,
        training=training,
    )


@parametric_function_api(
    "lstm",
    [("affine/W", "weights of the four gates", "(inmaps, 4, state_size)", True)]
    + [("affine/b", "biases of the four gates", "(4, state_size)", True)],
)
def lstm_cell(x, h, c, state_size, w_init=None, b_init=None, fix_parameters=False):
    """One step of an LSTM: the next state and cell, (B, state_size), from the input `x`, (B, I), and the
    last.

    `w_init` and `b_init` are as in `affine`, on the concatenation of `x` and `h`.
    """
    both = F.concatenate(x, h, axis=1)
    gates = affine(both, (4, state_size), w_init=w_init, b_init=b_init, fix_parameters=fix_parameters)
    enter, leave, keep, new = F.split(gates, axis=1)
    cell = F.sigmoid(keep) * c + F.sigmoid(enter) * F.tanh(new)
    return F.sigmoid(leave) * F.tanh(cell), cell


class LSTMCell:
    """An `lstm_cell` that remembers its state: attributes `h` and `c`, zeros of (batch_size, state_size) at
    first."""

    def __init__(self, batch_size, state_size, h=None, c=None, name=None):
        self.batch_size = batch_size
        self.state_size = state_size
        self.name = name
        self.h = self._zeros() if h is None else h
        self.c = self._zeros() if c is None else c

    def _zeros(self):
        state = Variable((self.batch_size, self.state_size))
        state.data.zero()
        return state

    def reset_state(self):
        """Fills state and cell with zeros, in place."""
        self.h.data.zero()
        self.c.data.zero()

    def __call__(self, x, w_init=None, b_init=None, fix_parameters=False):
        """Steps on with the input `x` and returns the new state."""
        self.h, self.c = lstm_cell(
            x, self.h, self.c, self.state_size, w_init, b_init, fix_parameters=fix_parameters, name=self.name
        )
        return self.h
