"""Recurrent layers."""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad import _C

from .. import context as _context
from .. import functions as F
from .. import parameter
from .._declare import specs
from .._frontend import fe
from ..logger import logger
from ..parameter import get_parameter
from ..variable import Variable
from ._api import layer
from ._common import bias, glorot, plain_parameters, weight
from .affine import affine

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array, Initializer

_package: Any = sys.modules[__package__]

__all__ = ["LSTMCell", "gru", "lstm", "lstm_cell", "rnn"]

# The shared sections of the docstrings of networks over sequences.
_SHARED = """
Args:
    x: (time, batch, inputs), computed in float32.
    h: the first states, (layers, directions, batch, units).
    w0_init: initializer of the weights of the first layer, or an array; None: UniformInitializer with Glorot's limits.
    w_init: initializer of the weights of the other layers, or an array; None: UniformInitializer with Glorot's limits.
    b_init: initializer of the biases, or an array; None: zeros.
    num_layers: has no effect: the shape of `h` determines the number of layers.
    dropout: has no effect, as in nnabla on a CPU.
    bidirectional: whether each layer runs in both directions.
    training: whether the gradient can be computed.
    with_bias: whether there are biases.

Returns:
    Array (time, batch, directions * units), and the last states, of the shape of `h`.
"""


def _stacked(rng, inputs: int, hidden: int, lead: Sequence[int]) -> np.ndarray:
    """The weights of the inputs, followed by those of the state, each drawn with Glorot's limits."""
    parts = [glorot(rng, n, hidden)((*lead, hidden, n)) for n in (inputs, hidden)]
    return np.concatenate(parts, axis=-1)


_RNN = [
    ("weight_l0", "weights of the first layer", "(D, H, I + H)", True),
    ("weight", "weights of the other layers", "(L - 1, D, H, D * H + H)", True),
    ("bias", "biases", "(L, D, H)", True),
]


@layer("rnn", _RNN, _SHARED)
def rnn(
    x: Array,
    h: Array,
    w0_init: Initializer | None = None,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    num_layers: int = 1,
    nonlinearity: str = "tanh",
    dropout: float = 0.0,
    bidirectional: bool = False,
    training: bool = True,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    fix_parameters: bool = False,
) -> tuple[Array, Array]:
    """Elman's recurrent network over a sequence (Elman, 1990).

    Args:
        nonlinearity: "tanh" or "relu".

    Example:
        >>> y, h = PF.rnn(nn.Variable((5, 2, 3)), nn.Variable((1, 1, 2, 4)))
        >>> y.shape, h.shape, list(nn.get_parameters())
        ((5, 2, 4), (1, 1, 2, 4), ['rnn/weight_l0', 'rnn/bias'])
    """
    inputs, hidden = x.shape[2], h.shape[3]
    layers, directions = h.shape[0], 2 if bidirectional else 1
    # drawn even where the parameters exist, as in nnabla, so that the generator gives the same later numbers
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
    """The parameter `name`, which is made if it does not exist; without `init`, `make` returns its initial value."""
    found = get_parameter(name)
    if found is None:
        return weight(name, shape, make() if init is None else init, fix)
    if found.shape != tuple(shape) and found.size == np.prod(shape):
        logger.warning(
            f"The parameter {name!r} of shape {found.shape} comes from an old version. It is used with the "
            f"shape {tuple(shape)}; training and saving it again is recommended."
        )
        found = Variable.from_numpy_array(found.d.reshape(shape), need_grad=found.need_grad)
        parameter.set_parameter(name, found)
    if found.shape != tuple(shape):
        raise ValueError(f"parameter {name!r} exists with shape {found.shape}, but {tuple(shape)} is needed")
    return found.get_unlinked_variable(need_grad=not fix and not parameter.current_no_grad)


def _gated(gates, x, h, w0_init, w_init, b_init, bidirectional, rng, with_bias, fix):
    """The weights of the first layer, the weights of the other layers and the biases of a network with `gates` gates. A
    GRU has a fourth bias, because its candidate state has separate biases for the input and the state.
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


@layer("lstm", _gate_descriptions(4), _SHARED)
def lstm(
    x: Array,
    h: Array,
    c: Array,
    w0_init: Initializer | None = None,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    num_layers: int = 1,
    dropout: float = 0.0,
    bidirectional: bool = False,
    training: bool = True,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    fix_parameters: bool = False,
) -> tuple[Array, Array, Array]:
    """Long short-term memory over a sequence (Hochreiter and Schmidhuber, 1997).

    Args:
        c: the first cells, as `h`.

    Returns:
        Array (time, batch, directions * units), the last states and the last cells, as `h`.

    Raises:
        ValueError: `w0_init` is an integer, which is an argument of `lstm_cell`, or a parameter exists with another
            shape.

    Example:
        >>> h = nn.Variable((1, 1, 2, 4))
        >>> y, h, c = PF.lstm(nn.Variable((5, 2, 3)), h, h)
        >>> y.shape, h.shape, list(nn.get_parameters())
        ((5, 2, 4), (1, 1, 2, 4), ['lstm/weight_l0', 'lstm/bias'])
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


@layer("gru", _gate_descriptions(3), _SHARED)
def gru(
    x: Array,
    h: Array,
    w0_init: Initializer | None = None,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    num_layers: int = 1,
    dropout: float = 0.0,
    bidirectional: bool = False,
    training: bool = True,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    fix_parameters: bool = False,
) -> tuple[Array, Array]:
    """Gated recurrent units over a sequence (Cho et al., 2014).

    Example:
        >>> y, h = PF.gru(nn.Variable((5, 2, 3)), nn.Variable((1, 1, 2, 4)))
        >>> y.shape, h.shape, list(nn.get_parameters())
        ((5, 2, 4), (1, 1, 2, 4), ['gru/weight_l0', 'gru/bias'])
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


@layer(
    "lstm",
    [("affine/W", "weights of the four gates", "(inmaps, 4, state_size)", True)]
    + [("affine/b", "biases of the four gates", "(4, state_size)", True)],
)
def lstm_cell(
    x: Array,
    h: Array,
    c: Array,
    state_size: int,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
) -> tuple[Array, Array]:
    """One step of long short-term memory (Hochreiter and Schmidhuber, 1997).

    Args:
        x: (batch, inputs), computed in float32.
        h: the last state, (batch, state_size).
        c: the last cell, (batch, state_size).
        state_size: the number of units.
        w_init: initializer of the weights of the dense layer of `x` and `h`; None: the uniform initializer by Glorot's
            limits.

    Returns:
        The next state and the next cell, (batch, state_size).

    Example:
        >>> h = nn.Variable((2, 4))
        >>> h, c = PF.lstm_cell(nn.Variable((2, 3)), h, h, 4)
        >>> h.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 4), {'lstm/affine/W': (7, 4, 4), 'lstm/affine/b': (4, 4)})
    """
    plain = type(x) is type(h) is type(c) is Variable and x.ndim == h.ndim == c.ndim == 2 and type(state_size) is int
    if plain and _called() == _OWN:
        inner = parameter.current_scope.get("affine")
        if type(inner) is OrderedDict:
            w_shape = [x.shape[1] + h.shape[1], 4, state_size]
            w, b = plain_parameters(inner, w_shape, [4, state_size], fix_parameters)
            if w is not None and b is not None:
                next_ones = _C.run_chain(_cell(), _context.current_ctx, x, h, c, w, b)
                if next_ones is not None:
                    return next_ones
    both = F.concatenate(x, h, axis=1)
    gates = _package.affine(both, (4, state_size), w_init=w_init, b_init=b_init, fix_parameters=fix_parameters)
    enter, leave, keep, new = F.split(gates, axis=1)
    cell = F.sigmoid(keep) * c + F.sigmoid(enter) * F.tanh(new)
    return F.sigmoid(leave) * F.tanh(cell), cell


def _called() -> tuple[Any, ...]:
    """The functions that `lstm_cell` calls: a program may have replaced some by its own."""
    return F.concatenate, F.split, F.sigmoid, F.tanh, F.affine, _package.affine


_OWN = _called()[:-1] + (affine,)


@functools.cache
def _cell() -> object:
    """The functions of `lstm_cell` as a chain of ops, from x, h, c, the weights and the bias. The values are numbered:
    those five, and the results of each step.
    """

    def step(op: str, *inputs: int, function: str | None = None, args: tuple[Any, ...] = (), **parameters: Any) -> Any:
        return op, inputs, parameters, None if function is None else specs[function], args

    steps = [
        step("concat", 0, 1, axis=1, function="Concatenate", args=(1,)),  # 5
        step("affine", 5, 3, 4, base_axis=1, function="Affine", args=(1,)),  # 6
        step("unstack", 6, axis=1, function="Split", args=(1,)),  # 7 to 10: enter, leave, keep, new
        step("sigmoid", 9, function="Sigmoid"),  # 11
        step("mul", 11, 2),  # 12
        step("sigmoid", 7, function="Sigmoid"),  # 13
        step("tanh", 10, function="Tanh"),  # 14
        step("mul", 13, 14),  # 15
        step("add", 12, 15),  # 16: the cell
        step("sigmoid", 8, function="Sigmoid"),  # 17
        step("tanh", 16, function="Tanh"),  # 18
        step("mul", 17, 18),  # 19: the state
    ]
    gates = 2, 7, step("lstm_parts", 2, 6), (16, 19, 18)  # in place of the functions from the third on
    return _C.chain(fe, 5, steps, (19, 16), gates)


class LSTMCell:
    """An `lstm_cell` that keeps its state from call to call.

    Args:
        batch_size: the number of samples.
        state_size: the number of units.
        h: the first state, (batch_size, state_size); None: zeros.
        c: the first cell, (batch_size, state_size); None: zeros.
        name: name of a scope around the scope of the parameters; None: the current one.

    Attributes:
        h: the state.
        c: the cell.

    Example:
        >>> cell = PF.LSTMCell(2, 4)
        >>> cell(nn.Variable((2, 3))).shape
        (2, 4)
        >>> cell.c.shape
        (2, 4)

    Source: `nnabla.parametric_functions.LSTMCell` of nnabla 1.39.0.
    """

    def __init__(
        self,
        batch_size: int,
        state_size: int,
        h: Variable | None = None,
        c: Variable | None = None,
        name: str | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.state_size = state_size
        self.name = name
        self.h = self._zeros() if h is None else h
        self.c = self._zeros() if c is None else c

    def _zeros(self) -> Variable:
        state = Variable((self.batch_size, self.state_size))
        state.data.zero()
        return state

    def reset_state(self) -> None:
        """Fills state and cell with zeros, in place."""
        self.h.data.zero()
        self.c.data.zero()

    def __call__(
        self,
        x: Array,
        w_init: Initializer | None = None,
        b_init: Initializer | None = None,
        fix_parameters: bool = False,
    ) -> Variable:
        """Runs one step with the input `x`, (batch_size, inputs), and returns the new state."""
        self.h, self.c = lstm_cell(
            x, self.h, self.c, self.state_size, w_init, b_init, fix_parameters=fix_parameters, name=self.name
        )
        return self.h
