"""Sequences of different lengths, padded or packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["pack_padded_sequence", "pad_packed_sequence"]


@function("PackPaddedSequence", "padded_sequence, lengths", primitive=True, integers=("lengths",), setup="data")
def pack_padded_sequence(padded_sequence: Array, lengths: Array, batch_first: bool = False) -> tuple[Array, Array]:
    """Packs sequences of different lengths without their padding: all first steps, all second steps, and so on.

    Args:
        padded_sequence: (time, batch, ...), or (batch, time, ...) with `batch_first`.
        lengths: integers (batch,) that do not increase. Their values must exist when the function is called, because
            the shape of the result depends on them.
        batch_first: whether the batch is the first axis.

    Returns:
        Array (sum of lengths, ...), and the number of sequences at each step, integers (time,).

    Raises:
        RuntimeError: lengths increase, or exceed the time.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 0.0]]))
        >>> y, sizes = F.pack_padded_sequence(x, nn.NdArray.from_numpy_array(np.array([3, 2])))
        >>> y.data, sizes.data
        (array([ 1., 10.,  2., 20.,  3.], dtype=float32), array([2, 2, 1], dtype=int32))
    """
    return op.pack_padded_sequence(padded_sequence, lengths, batch_first=batch_first)


@function("PadPackedSequence", "packed_sequence, batch_sizes", primitive=True, integers=("batch_sizes",), setup="data")
def _pad_packed_sequence(packed_sequence, batch_sizes, batch_first=False, padding_value=0.0, total_length=-1):
    return op.pad_packed_sequence(packed_sequence, batch_sizes, batch_first=batch_first, total_length=total_length)


@documented()
def pad_packed_sequence(
    packed_sequence: Array,
    batch_sizes: Array,
    batch_first: bool = False,
    padding_value: float | None = 0.0,
    total_length: int | None = -1,
    **more: Any,
) -> tuple[Array, Array]:
    """The reverse of `pack_padded_sequence`.

    Args:
        packed_sequence: (steps, ...).
        batch_sizes: the number of sequences at each step, integers (time,) that do not increase. Their values must
            exist when the function is called, because the shape of the result depends on them.
        batch_first: whether the batch is the first axis of the result.
        padding_value: has no effect, as in nnabla: the padding is zeros.
        total_length: the smallest length of the time axis of the result.

    Returns:
        Array (time, batch, ...), or (batch, time, ...) with `batch_first`, and the lengths, integers (batch,).

    Raises:
        RuntimeError: `batch_sizes` increase, or their sum is not the number of steps.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 10.0, 2.0]))
        >>> y, lengths = F.pad_packed_sequence(x, nn.NdArray.from_numpy_array(np.array([2, 1])))
        >>> y.data, lengths.data
        (array([[ 1., 10.],
               [ 2.,  0.]], dtype=float32), array([2, 1], dtype=int32))
    """
    return _pad_packed_sequence(
        packed_sequence,
        batch_sizes,
        batch_first,
        padding_value or 0.0,
        -1 if total_length is None else total_length,
        **more,
    )
