"""The operator RNN, a fused recurrent network.

The products with the inputs are computed for all time steps at once. The products with the states, which depend on one
another, run in one op for each layer and direction, unless samples end early or outputs are projected.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from compatgrad import _C

from ..base import MXNetError
from ._arguments import choice, public_names, require_ndim, require_shape, required, slices, whole
from ._gates import LSTM_GATES
from ._operator import op, operator
from .ndarray import NDArray

_get_mode = _C.get_mode
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class _Network(NamedTuple):
    """The sizes that determine the layout of the packed parameters."""

    mode: str
    inputs: int
    units: int
    layers: int
    directions: int
    projection: int | None

    @property
    def outputs(self) -> int:
        return self.projection or self.units


@lru_cache(64)
def _layout(net: _Network) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], int]:
    """The shapes of the packed parameters in order, where each of them but the first begins, and their total size.

    First the weights of all layers and directions (by inputs, by states, of the projection), then their biases.
    """
    rows = _GATES[net.mode] * net.units
    shapes: list[tuple[int, ...]] = []
    for layer in range(net.layers):
        width = net.inputs if layer == 0 else net.outputs * net.directions
        for _ in range(net.directions):
            shapes += [(rows, width), (rows, net.outputs)]
            if net.projection:
                shapes.append((net.projection, net.units))
    shapes += [(rows,)] * (2 * net.layers * net.directions)
    ends, total = [], 0
    for shape in shapes:
        total += shape[0] * (shape[1] if len(shape) == 2 else 1)
        ends.append(total)
    return tuple(shapes), tuple(ends[:-1]), total


def _unpacked(net: _Network, parameters: NDArray) -> list[list[NDArray]]:
    """Weights, then biases, for each layer and direction."""
    shapes, starts, total = _layout(net)
    require_shape("RNN", "parameters", parameters.shape, (total,))
    parts = op.split(parameters, indices=starts, axis=0)
    parts = [p if len(shape) == 1 else op.reshape(p, shape=shape) for p, shape in zip(parts, shapes, strict=True)]
    cells, weights = net.layers * net.directions, 3 if net.projection else 2
    biases = parts[cells * weights :]
    return [parts[k * weights : (k + 1) * weights] + biases[2 * k : 2 * k + 2] for k in range(cells)]


# ---- cells -----------------------------------------------------------------------------------------------------------
class _Cell(NamedTuple):
    """The weights of one layer in one direction."""

    mode: str
    w_x: NDArray
    b_x: NDArray
    w_h: NDArray
    b_h: NDArray | None  # None: b_x is the sum of both biases
    w_out: NDArray | None  # the weight of the projection


def _cell(net: _Network, w: list[NDArray]) -> _Cell:
    if net.mode == "gru":
        return _Cell(net.mode, w[0], w[2], w[1], w[3], None)
    b = op.add(w[-2], w[-1])
    if net.mode != "lstm":
        return _Cell(net.mode, w[0], b, w[1], None, None)
    return _Cell(net.mode, w[0], b, w[1], None, w[2] if len(w) == 5 else None)


def _step(cell: _Cell, x: NDArray, states: list[NDArray]) -> list[NDArray]:
    """The states after one step, whose first is the output; x: the product of the input with its weight."""
    s = op.linear(states[0], cell.w_h, cell.b_h)
    if cell.mode == "gru":
        return [op.gru(states[0], x, s)]
    s = op.add(x, s)
    if cell.mode != "lstm":
        return [op.relu(s) if cell.mode == "rnn_relu" else op.tanh(s)]
    c, h = op.lstm(states[1], s, order=LSTM_GATES)
    return [h if cell.w_out is None else op.linear(h, cell.w_out, None), c]


def _direction(
    x: NDArray, states: list[NDArray], cell: _Cell, backward: bool, goes_on: Sequence[Any] | None
) -> tuple[NDArray, list[NDArray]]:
    """One layer in one direction: the outputs (time, batch, units) and the last states.

    goes_on: for each step, which samples have not ended; the others keep their states and output 0.
    """
    time, batch, width = x.shape
    gates = op.linear(op.reshape(x, shape=(time * batch, width)), cell.w_x, cell.b_x)
    gates = op.reshape(gates, shape=(time, batch, cell.w_x.shape[0]))
    if goes_on is None and cell.w_out is None:
        first = states[1] if cell.mode == "lstm" else None
        y = op.rnn_layer(
            gates, states[0], first, cell.w_h, cell.b_h, mode=cell.mode, order=LSTM_GATES, reverse=backward
        )
        ys = y if isinstance(y, tuple) else (y,)
        return ys[0], [op.get_item(v, index=0 if backward else time - 1) for v in ys[: len(states)]]
    steps, outputs = slices(gates, 0), [None] * time
    for t in reversed(range(time)) if backward else range(time):
        new = _step(cell, steps[t], states)
        outputs[t] = new[0]
        if goes_on is not None:
            alive = goes_on[t]
            outputs[t] = op.dropout_mask(new[0], mask=alive.tensor.expand(new[0].shape))
            new = [op.where(alive, a, b) for a, b in zip(new, states, strict=True)]
        states = new
    return op.stack(outputs, axis=0), states


# ---- the operator ----------------------------------------------------------------------------------------------------
@operator(
    "data, parameters, state, state_cell? if mode=lstm, sequence_length? if use_sequence_length",
    outputs="output, state_output if state_outputs, statecell_output if state_outputs and mode=lstm",
)  # fmt: skip
def RNN(
    data, parameters, state, state_cell=None, sequence_length=None, state_size=None, num_layers=None,
    bidirectional=False, mode=None, p=0.0, state_outputs=False, projection_size=None, lstm_state_clip_min=None,
    lstm_state_clip_max=None, lstm_state_clip_nan=False, use_sequence_length=False,
):  # fmt: skip
    """A stack of recurrent layers over data (time, batch, inputs): outputs (time, batch, directions * units).

    mode: "rnn_relu", "rnn_tanh", "lstm" or "gru". state, and for "lstm" state_cell: (layers * directions, batch,
    units). parameters: one vector of all weights, for each layer and direction those of the inputs, of the state and
    of the projection, then all biases, two each. `p`: dropout between layers in training mode. `state_outputs`: also
    the last states. `projection_size`: width of an LSTM's outputs. With `use_sequence_length` samples end after
    sequence_length (batch,) steps: later outputs are 0. MXNetError if anything does not fit.

    Args:
        data: floating point, shape (length, batch, features).
        mode: "rnn_relu", "rnn_tanh", "lstm" or "gru".
        p: the probability with which an element between two layers becomes 0 in training.

    Returns:
        NDArray of shape (length, batch, directions * state_size); with `state_outputs` a list of it and the last
        states.

    Example:
        >>> x, parameters = nd.ones((3, 1, 2)), nd.zeros(12)
        >>> nd.RNN(x, parameters, nd.zeros((1, 1, 2)), state_size=2, num_layers=1, mode="rnn_tanh").shape
        (3, 1, 2)
    """
    name = "RNN"
    choice(name, "mode", required(name, "mode", mode))
    state_size, num_layers = whole(name, "state_size", state_size), whole(name, "num_layers", num_layers)
    require_ndim(name, "data", data, 3)
    lstm = mode == "lstm"
    if not lstm and use_sequence_length and sequence_length is None:
        state_cell, sequence_length = None, state_cell  # without state_cell, sequence_length is the fourth input
    if (state_cell is not None) != lstm:
        raise MXNetError(f"{name}: state_cell: mode {mode!r} {'needs one' if lstm else 'has none'}")
    if (sequence_length is not None) != bool(use_sequence_length):
        raise MXNetError(f"{name}: sequence_length must be given exactly with use_sequence_length=True")
    if projection_size and not lstm:
        raise MXNetError(f"{name}: projection_size is for mode 'lstm', got mode {mode!r}")
    if lstm_state_clip_min is not None or lstm_state_clip_max is not None:
        raise MXNetError(f"{name}: lstm_state_clip_min and lstm_state_clip_max are not supported")
    directions = 2 if bidirectional else 1
    net = _Network(mode, data.shape[2], state_size, num_layers, directions, projection_size or None)
    time, batch = data.shape[:2]
    if not time:
        raise MXNetError(f"{name}: data of shape {data.shape} has no time steps")
    require_shape(name, "state", state.shape, (num_layers * directions, batch, net.outputs))
    if lstm:
        require_shape(name, "state_cell", state_cell.shape, (num_layers * directions, batch, state_size))
    goes_on = None
    if sequence_length is not None:
        require_shape(name, "sequence_length", sequence_length.shape, (batch,))
        ends = sequence_length.tensor
        goes_on = [NDArray((t < ends)[:, None]) for t in range(time)]
    return _run(net, data, parameters, [state, state_cell] if lstm else [state], p, goes_on, state_outputs)


def _run(
    net: _Network, x: NDArray, parameters: NDArray, states: list[NDArray], p: float, goes_on: Sequence[Any] | None,
    state_outputs: bool,
) -> Any:  # fmt: skip
    starts = [slices(s, 0) for s in states]
    weights = _unpacked(net, parameters)
    last: list[list[NDArray]] = [[] for _ in states]
    for layer in range(net.layers):
        if layer and p and _get_mode("training"):
            x = op.dropout_hashed(x, p=p)
        sides = []
        for d in range(net.directions):
            k = layer * net.directions + d
            y, final = _direction(x, [s[k] for s in starts], _cell(net, weights[k]), d == 1, goes_on)
            sides.append(y)
            for of_state, value in zip(last, final, strict=True):
                of_state.append(value)
        x = sides[0] if len(sides) == 1 else op.concat(sides, axis=2)
    return [x, *(op.stack(v, axis=0) for v in last)] if state_outputs else x


__all__ = public_names(globals())
