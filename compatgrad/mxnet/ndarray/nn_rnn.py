"""The fused recurrent network.

The products with the inputs are done for all time steps at once; only those with the states wait for one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch

from compatgrad import _C

from ..base import MXNetError
from ._arguments import one_of, public_names, require_ndim, require_shape
from ._operator import op, operator
from .ndarray import NDArray
from .nn_layers import required, slices

_get_mode = _C.get_mode
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
# one step: the gates' part from the input and the states, to the new states, of which the first is the output
Step = Callable[[Any, list[NDArray]], list[NDArray]]


class _Network(NamedTuple):
    """What the packed parameters depend on."""

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
    """Shapes of the packed parameters in their order, where all but the first begin, and how many numbers they have.

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
def _plain(w: list[NDArray], activation: Callable[[NDArray], NDArray]) -> tuple[NDArray, NDArray, Step]:
    w_x, w_h, b_x, b_h = w

    def step(x, states):
        return [activation(op.add(x, op.linear(states[0], w_h, None)))]

    return w_x, op.add(b_x, b_h), step


@lru_cache(64)
def _interleaved(units: int, device: torch.device) -> torch.Tensor:
    """Rows in the order in which the cell takes them: of each unit its input, then its gates."""
    gates = torch.tensor([2, 0, 1, 3], device=device) * units
    return (torch.arange(units, device=device)[:, None] + gates).reshape(-1)


def _lstm(w: list[NDArray], units: int) -> tuple[NDArray, NDArray, Step]:
    rows = NDArray(_interleaved(units, w[0].tensor.device))
    w_x, w_h = op.embedding(w[0], rows), op.embedding(w[1], rows)
    b = op.embed(rows, op.add(w[-2], w[-1]))
    w_out = w[2] if len(w) == 5 else None

    def step(x, states):
        h, c = states
        c, h = op.lstm(c, op.add(x, op.linear(h, w_h, None)))
        return [h if w_out is None else op.linear(h, w_out, None), c]

    return w_x, b, step


def _gru(w: list[NDArray]) -> tuple[NDArray, NDArray, Step]:
    w_x, w_h, b_x, b_h = w

    def step(x, states):
        (h,) = states
        return [op.gru(h, x, op.linear(h, w_h, b_h))]

    return w_x, b_x, step


def _cell(net: _Network, w: list[NDArray]) -> tuple[NDArray, NDArray, Step]:
    """Weight and bias of the inputs, and what one step does."""
    if net.mode == "lstm":
        return _lstm(w, net.units)
    if net.mode == "gru":
        return _gru(w)
    return _plain(w, op.relu if net.mode == "rnn_relu" else op.tanh)


def _direction(
    x: NDArray, states: list[NDArray], cell: tuple[NDArray, NDArray, Step], backward: bool,
    goes_on: Sequence[Any] | None,
) -> tuple[NDArray, list[NDArray]]:  # fmt: skip
    """One layer in one direction: the outputs (time, batch, units) and the last states.

    goes_on: for each step which samples have not ended; the others keep their states and give 0.
    """
    w_x, b, step = cell
    time, batch, width = x.shape
    gates = op.linear(op.reshape(x, shape=(time * batch, width)), w_x, b)
    gates = slices(op.reshape(gates, shape=(time, batch, w_x.shape[0])), 0)
    outputs: list[Any] = [None] * time
    for t in reversed(range(time)) if backward else range(time):
        new = step(gates[t], states)
        if goes_on is None:
            outputs[t], states = new[0], new
            continue
        alive = goes_on[t]
        outputs[t] = op.dropout_mask(new[0], mask=alive.tensor.expand(new[0].shape))
        states = [op.where(alive, a, b) for a, b in zip(new, states, strict=True)]
    return op.stack(outputs, axis=0), states


# ---- the operator ----------------------------------------------------------------------------------------------------
@operator("data, parameters, state, state_cell?, sequence_length?")
def RNN(  # noqa: N802
    data, parameters, state, state_cell=None, sequence_length=None, state_size=None, num_layers=None,
    bidirectional=False, mode=None, p=0.0, state_outputs=False, projection_size=None, lstm_state_clip_min=None,
    lstm_state_clip_max=None, lstm_state_clip_nan=False, use_sequence_length=False,
):  # fmt: skip
    """A stack of recurrent layers over data (time, batch, inputs): outputs (time, batch, directions * units).

    mode: "rnn_relu", "rnn_tanh", "lstm" or "gru". state, and for "lstm" state_cell: (layers * directions, batch,
    units). parameters: one vector of all weights, for each layer and direction those of the inputs, of the state and
    of the projection, then all biases, two each. `p`: dropout between layers in training mode. `state_outputs`: also
    the last states. `projection_size`: width of an LSTM's outputs. With `use_sequence_length` samples end after
    sequence_length (batch,) steps: later outputs are 0. MXNetError where anything does not fit.
    """
    name = "RNN"
    one_of(name, "mode", required(name, "mode", mode), tuple(_GATES))
    required(name, "state_size", state_size)
    required(name, "num_layers", num_layers)
    require_ndim(name, "data", data, 3)
    lstm = mode == "lstm"
    if not lstm and use_sequence_length and sequence_length is None:
        state_cell, sequence_length = None, state_cell  # without cells the lengths come fourth
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
            x = op.mx_dropout(x, p=p)
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
