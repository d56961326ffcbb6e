"""Sequences of different lengths: padding, packing, and the reverse.

To be used with auto-forward: shapes depend on lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import compatgrad.nnabla.functions as F
from compatgrad.nnabla.variable import Variable

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"]


class PackedSequence:
    """What packing gives.

    `data`: the steps of all sequences, all first ones first; `batch_sizes`: how many sequences have each
    step; `sorted_indices`, `unsorted_indices`: the order by length and the way back, None where nothing was
    sorted.
    """

    def __init__(self) -> None:
        self.data = self.batch_sizes = self.sorted_indices = self.unsorted_indices = None

    def __str__(self) -> str:
        return (
            f"data={self.data}, batch_sizes={self.batch_sizes}, sorted_indices={self.sorted_indices}, "
            f"unsorted_indices={self.unsorted_indices}"
        )


def pad_sequence(sequences: Sequence[Variable], batch_first: bool = False, padding_value: float = 0.0) -> Variable:
    """Stacks Variables of shapes (steps, ...) to one of shape (longest, batch, ...), or batch first.

    Steps beyond a sequence's end are `padding_value`.
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
    """Packs a padded sequence, (time, batch, ...) or batch first, of the given lengths, (batch,).

    `enforce_sorted`: lengths do not increase; otherwise the sequences are sorted by length first.
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
    """Packs Variables of shapes (steps, ...); see `pack_padded_sequence`. `batch_first` has no effect."""
    lengths = Variable.from_numpy_array(np.array([s.shape[0] for s in sequences]))
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Variable, Variable]:
    """The padded sequences, (time, batch, ...) or batch first, in their first order, and their lengths.

    Padded with zeros, as `functions.pad_packed_sequence`. ValueError where `total_length`, the time to pad to,
    is less than the longest length.
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
