"""Sequences of different lengths, padded or packed."""

from __future__ import annotations

from compatgrad.nnabla._declare import function, op

__all__ = ["pack_padded_sequence", "pad_packed_sequence"]


@function("PackPaddedSequence", "padded_sequence, lengths", primitive=True, integers=("lengths",), setup="data")
def pack_padded_sequence(padded_sequence, lengths, batch_first=False):
    """The steps of sequences of different lengths, without the padding: all first steps, all second ones, ...

    padded_sequence: (time, batch, ...), or (batch, time, ...) if `batch_first`; lengths: (batch,), not
    increasing. Gives (sum of lengths, ...) and how many sequences have each step, (time,). Lengths must be
    there when the function is called, for shapes depend on them. RuntimeError for lengths that increase or
    exceed the time.
    """
    return op.pack_padded_sequence(padded_sequence, lengths, batch_first=batch_first)


@function("PadPackedSequence", "packed_sequence, batch_sizes", primitive=True, integers=("batch_sizes",), setup="data")
def _pad_packed_sequence(packed_sequence, batch_sizes, batch_first=False, padding_value=0.0, total_length=-1):
    return op.pad_packed_sequence(packed_sequence, batch_sizes, batch_first=batch_first, total_length=total_length)


def pad_packed_sequence(packed_sequence, batch_sizes, batch_first=False, padding_value=0.0, total_length=-1, **more):
    """The reverse of `pack_padded_sequence`.

    packed_sequence: (steps, ...); batch_sizes: (time,), how many sequences have each step. Gives (time,
    batch, ...), batch first if `batch_first`, with zeros where a sequence has ended and time at least
    `total_length`, and the lengths, (batch,). `padding_value` has no effect: the original, too, pads with
    zeros whatever it is, and programs of its own rely on it.
    """
    return _pad_packed_sequence(
        packed_sequence,
        batch_sizes,
        batch_first,
        padding_value or 0.0,
        -1 if total_length is None else total_length,
        **more,
    )
