"""Padding and packing of sequences of different lengths, and the inverse operations.

These functions need auto-forward, because the shapes depend on the values of the lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import compatgrad.nnabla.functions as F
from compatgrad.nnabla.variable import Variable

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"]


class PackedSequence:
    """Sequences of different lengths in one array without padding.

    Attributes: `data`: a Variable (sum of the lengths, ...) with the first steps of all sequences, then the second
        steps, and so on. `batch_sizes`: the number of sequences that have each step, (longest,). `sorted_indices` and
        `unsorted_indices`: the permutation that sorted the sequences by length and its inverse, (batch,), or None if
        they were not sorted.

    Example:
        >>> from compatgrad.nnabla.utils.rnn import pack_sequence
        >>> with nn.auto_forward():
        ...     packed = pack_sequence([nn.Variable.from_numpy_array(np.arange(n)) for n in (3, 1)])
        >>> packed.data.d, packed.batch_sizes.d, packed.sorted_indices
        (array([0., 0., 1., 2.], dtype=float32), array([2, 1, 1], dtype=int32), None)

    Source: `nnabla.utils.rnn.PackedSequence` of nnabla 1.39.0.
    """

    def __init__(self) -> None:
        self.data = self.batch_sizes = self.sorted_indices = self.unsorted_indices = None

    def __str__(self) -> str:
        return (
            f"data={self.data}, batch_sizes={self.batch_sizes}, sorted_indices={self.sorted_indices}, "
            f"unsorted_indices={self.unsorted_indices}"
        )


def pad_sequence(sequences: Sequence[Variable], batch_first: bool = False, padding_value: float = 0.0) -> Variable:
    """Pads sequences of different lengths at their ends, and stacks them.

    Args:
        sequences: Variables (steps, ...), floating point, whose shapes differ in the number of steps only.
        batch_first: whether the batch is the first axis of the result instead of the second.
        padding_value: the value of the padding.

    Returns:
        Variable (longest, batch, ...), or (batch, longest, ...).

    Raises:
        RuntimeError: the sequences' shapes differ in another axis.
        ValueError: `sequences` is empty.

    Example:
        >>> from compatgrad.nnabla.utils.rnn import pad_sequence
        >>> with nn.auto_forward():
        ...     pad_sequence([nn.Variable.from_numpy_array(np.ones(n)) for n in (3, 1)], batch_first=True).d
        array([[1., 1., 1.],
               [1., 0., 0.]], dtype=float32)

    Source: `nnabla.utils.rnn.pad_sequence` of nnabla 1.39.0.
    """
    batch, longest = len(sequences), max(s.shape[0] for s in sequences)
    lead = (batch, longest) if batch_first else (longest, batch)
    padded = F.constant(padding_value, (*lead, *sequences[0].shape[1:]))
    for b, s in enumerate(sequences):
        n = s.shape[0]
        if batch_first:
            padded[b, :n, ...] = s
        else:
            padded[:n, b, ...] = s
    return padded


def pack_padded_sequence(
    padded_sequence: Variable, lengths: Variable, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences: removes the steps beyond the lengths.

    Args:
        padded_sequence: Variable (longest, batch, ...), or (batch, longest, ...) with `batch_first`, floating point.
        lengths: Variable (batch,) of integers.
        batch_first: whether the batch is the first axis instead of the second.
        enforce_sorted: whether to require that the lengths do not increase; if False, the sequences are sorted by
            length.

    Returns:
        The packed sequence.

    Raises:
        RuntimeError: the numbers of lengths and sequences differ, or the lengths increase although `enforce_sorted` is
            set.

    Example:
        >>> from compatgrad.nnabla.utils.rnn import pack_padded_sequence
        >>> x = nn.Variable.from_numpy_array(np.arange(6).reshape(3, 2))
        >>> with nn.auto_forward():
        ...     packed = pack_padded_sequence(x, nn.Variable.from_numpy_array(np.array([3, 1])))
        >>> packed.data.d, packed.batch_sizes.d
        (array([0., 1., 2., 4.], dtype=float32), array([2, 1, 1], dtype=int32))

    Source: `nnabla.utils.rnn.pack_padded_sequence` of nnabla 1.39.0.
    """
    packed = PackedSequence()
    if not enforce_sorted:
        lengths, order = F.sort(lengths, axis=0, reverse=True, with_index=True)
        batch = order.shape[0]
        packed.sorted_indices = order
        packed.unsorted_indices = F.scatter_nd(F.arange(0, batch), F.reshape(order, (1, batch)), shape=(batch,))
        padded_sequence = F.gather(padded_sequence, order, 0 if batch_first else 1)
    packed.data, packed.batch_sizes = F.pack_padded_sequence(padded_sequence, lengths, batch_first)
    return packed


def pack_sequence(
    sequences: Sequence[Variable], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences of different lengths.

    Args:
        sequences: Variables (steps, ...), floating point, whose shapes differ in the number of steps only.
        batch_first: ignored.
        enforce_sorted: whether to require that the lengths do not increase; if False, the sequences are sorted by
            length.

    Returns:
        The packed sequence.

    Raises:
        RuntimeError: the lengths increase although `enforce_sorted` is set.
        ValueError: `sequences` is empty.

    Example:
        >>> from compatgrad.nnabla.utils.rnn import pack_sequence
        >>> sequences = [nn.Variable.from_numpy_array(np.arange(n)) for n in (1, 3)]
        >>> with nn.auto_forward():
        ...     packed = pack_sequence(sequences, enforce_sorted=False)
        ...     packed.data.d, packed.sorted_indices.d
        (array([0., 0., 1., 2.], dtype=float32), array([1, 0]))

    Source: `nnabla.utils.rnn.pack_sequence` of nnabla 1.39.0.
    """
    lengths = Variable.from_numpy_array(np.array([s.shape[0] for s in sequences]))
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Variable, Variable]:
    """Unpacks sequences: pads them with zeros, and restores their order before packing.

    Args:
        sequence: the packed sequence.
        batch_first: whether the batch is the first axis of the result instead of the second.
        padding_value: ignored, as in `functions.pad_packed_sequence`.
        total_length: the number of steps of the result; None for the longest length.

    Returns:
        Variable (steps, batch, ...), or (batch, steps, ...), and the lengths, Variable (batch,).

    Raises:
        ValueError: `total_length` is less than the longest length.

    Example:
        >>> from compatgrad.nnabla.utils.rnn import pack_sequence, pad_packed_sequence
        >>> with nn.auto_forward():
        ...     packed = pack_sequence([nn.Variable.from_numpy_array(np.arange(n)) for n in (3, 1)])
        ...     padded, lengths = pad_packed_sequence(packed, batch_first=True)
        >>> padded.d, lengths.d
        (array([[0., 1., 2.],
               [0., 0., 0.]], dtype=float32), array([3, 1], dtype=int32))

    Source: `nnabla.utils.rnn.pad_packed_sequence` of nnabla 1.39.0.
    """
    longest = sequence.batch_sizes.shape[0]
    if total_length is not None and total_length < longest:
        raise ValueError(
            f"pad_packed_sequence: total_length must be at least {longest}, the longest length, not {total_length}"
        )
    padded, lengths = F.pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length
    )
    if sequence.unsorted_indices is not None:
        padded = F.gather(padded, sequence.unsorted_indices, 0 if batch_first else 1)
        lengths = lengths[sequence.unsorted_indices]
    return padded, lengths


# The original keeps under these names recurrent networks that are composed of other functions. Its tests take them for
# the expected results of functions.rnn, gru and lstm.
def _rnn(x: Any, h: Any, w: Any, b: Any, nonlinearity: str, with_bias: bool) -> Any:
    y = F.affine(F.concatenate(x, h, axis=1), F.transpose(w, (1, 0)), b if with_bias else None)
    return {"tanh": F.tanh, "relu": F.relu}[nonlinearity](y)


def _gates(x: Any, w: Sequence, b: Sequence) -> list:
    """The affine part of each gate: one pair of weights (units, inputs) and biases for each result."""
    return [F.affine(x, F.transpose(v, (1, 0)), c) for v, c in zip(w, b, strict=True)]


def _gru(x: Any, h: Any, w: Any, b: Any, with_bias: bool) -> Any:
    biases = F.split(b, axis=0) if with_bias else [None] * 4
    *weights, new = F.split(w, axis=0)
    reset, update = map(F.sigmoid, _gates(F.concatenate(x, h, axis=1), weights, biases[:2]))
    (from_x,) = _gates(x, [new[:, : x.shape[1]]], biases[2:3])
    (from_h,) = _gates(h, [new[:, x.shape[1] :]], biases[3:])
    return (1 - update) * F.tanh(from_x + reset * from_h) + update * h


def _lstm(x: Any, h: Any, c: Any, w: Any, b: Any, with_bias: bool) -> tuple:
    biases = F.split(b, axis=0) if with_bias else [None] * 4
    i, f, g, o = _gates(F.concatenate(x, h, axis=1), F.split(w, axis=0), biases)
    c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
    return F.sigmoid(o) * F.tanh(c), c


def _layers(
    cell: Callable[..., tuple],
    xs: Any,
    states: tuple,
    w0: Any,
    w: Any,
    b: Any,
    num_layers: int,
    num_directions: int,
) -> tuple:
    """The outputs of the last layer, and each state after the last step, of all layers and directions.

    `cell` computes the states after a step from its input, the states before it, weights and bias.
    """
    steps = [xs[0]] if xs.shape[0] == 1 else F.split(xs, axis=0)
    ends: list[tuple] = []
    for layer in range(num_layers):
        weights = w[layer - 1] if layer else w0
        outputs = []
        for direction in range(num_directions):
            now = tuple(state[layer, direction] for state in states)
            bias = None if b is None else b[layer, direction]
            row = []
            for x in steps if direction == 0 else reversed(steps):
                now = cell(x, *now, weights[direction], bias)
                row.append(now[0])
            ends.append(now)
            outputs.append(row if direction == 0 else row[::-1])
        steps = [F.concatenate(*pair, axis=1) if len(pair) > 1 else pair[0] for pair in zip(*outputs, strict=True)]
    last = [F.reshape(F.stack(*s, axis=0), states[i].shape) for i, s in enumerate(zip(*ends, strict=True))]
    return F.stack(*steps, axis=0), *last


def _create_fixed_length_rnn(
    xs0: Any,
    h0: Any,
    w0: Any,
    w: Any,
    b: Any,
    num_layers: int,
    nonlinearity: str,
    num_directions: int,
    with_bias: bool,
) -> tuple:
    def cell(x: Any, h: Any, v: Any, c: Any) -> tuple:
        return (_rnn(x, h, v, c, nonlinearity, with_bias),)

    return _layers(cell, xs0, (h0,), w0, w, b if with_bias else None, num_layers, num_directions)


def _create_fixed_length_gru(
    xs0: Any,
    h0: Any,
    w0: Any,
    w: Any,
    b: Any,
    num_layers: int,
    num_directions: int,
    with_bias: bool,
) -> tuple:
    def cell(x: Any, h: Any, v: Any, c: Any) -> tuple:
        return (_gru(x, h, v, c, with_bias),)

    return _layers(cell, xs0, (h0,), w0, w, b if with_bias else None, num_layers, num_directions)


def _create_fixed_length_lstm(
    xs0: Any,
    h0: Any,
    c0: Any,
    w0: Any,
    w: Any,
    b: Any,
    num_layers: int,
    num_directions: int,
    with_bias: bool,
) -> tuple:
    def cell(x: Any, h: Any, c: Any, v: Any, d: Any) -> tuple:
        return _lstm(x, h, c, v, d, with_bias)

    return _layers(cell, xs0, (h0, c0), w0, w, b if with_bias else None, num_layers, num_directions)
