"""Operators on batches of sequences of different lengths, padded to one length."""

from __future__ import annotations

import torch

from ..base import MXNetError
from ._arguments import as_index, public_names, require_shape
from ._operator import op, operator
from .ndarray import NDArray


def _lengths(name: str, data: NDArray, lengths: NDArray | None, used: bool, axis: int) -> torch.Tensor | None:
    """The lengths (batch,) as integers, None if they are not used. `axis` is time, the other one of 0 and 1 the
    batch.
    """
    if axis not in (0, 1):
        raise MXNetError(f"{name}: axis must be 0 or 1, got {axis}")
    if data.tensor.dim() < 2:
        raise MXNetError(f"{name}: data must have at least 2 dimensions, got the shape {data.shape}")
    if (lengths is not None) != bool(used):
        raise MXNetError(f"{name}: sequence_length must be given if, and only if, use_sequence_length is true")
    if lengths is None:
        return None
    require_shape(name, "sequence_length", lengths.shape, (data.shape[1 - axis],))
    return as_index(lengths)


@operator("data, sequence_length? if use_sequence_length")
def SequenceMask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    """Sequences filled with `value` after their ends. data: (time, batch, ...), or (batch, time, ...) with axis=1.

    Without use_sequence_length, the result is a copy. MXNetError if lengths do not fit.

    Args:
        data: shape (length, batch, ...), or (batch, length, ...) with axis=1.
        axis: the axis of time, 0 or 1.

    Example:
        >>> x = nd.ones((3, 2))
        >>> nd.SequenceMask(x, nd.array([1, 2]), use_sequence_length=True).asnumpy()
        array([[1., 1.],
               [0., 1.],
               [0., 0.]], dtype=float32)
    """
    lengths = _lengths("SequenceMask", data, sequence_length, use_sequence_length, axis)
    if lengths is None:
        return op.identity(data)
    t = data.tensor
    steps = torch.arange(t.shape[axis], device=t.device)
    inside = steps[:, None] < lengths if axis == 0 else steps < lengths[:, None]
    inside = inside.reshape(*inside.shape, *[1] * (t.dim() - 2))
    return op.where(NDArray(inside), data, NDArray(torch.full((1,), value, dtype=t.dtype, device=t.device)))


@operator("data, sequence_length? if use_sequence_length")
def SequenceLast(data, sequence_length=None, use_sequence_length=False, axis=0):
    """The last element of each sequence: (batch, ...). See `SequenceMask`; a length of 0 is an MXNetError.

    Args:
        data: shape (length, batch, ...), or (batch, length, ...) with axis=1.
        axis: the axis of time, 0 or 1.

    Returns:
        NDArray of the dtype of `data`, without the axis of time.

    Example:
        >>> x = nd.arange(6).reshape((3, 2))
        >>> nd.SequenceLast(x, nd.array([1, 2]), use_sequence_length=True).asnumpy()
        array([0., 3.], dtype=float32)
    """
    lengths = _lengths("SequenceLast", data, sequence_length, use_sequence_length, axis)
    n = data.shape[axis]
    if lengths is None:
        return op.get_item(data, index=(slice(None),) * axis + (n - 1,))
    if lengths.numel() and not 1 <= int(lengths.min()) <= int(lengths.max()) <= n:
        raise MXNetError(f"SequenceLast: sequence_length must be from 1 to {n}, got {lengths.tolist()}")
    batch = torch.arange(len(lengths), device=lengths.device)
    return op.gather_nd(data, NDArray(torch.stack([lengths - 1, batch] if axis == 0 else [batch, lengths - 1])))


@operator("data, sequence_length? if use_sequence_length")
def SequenceReverse(data, sequence_length=None, use_sequence_length=False, axis=0):
    """Reverses each sequence; elements after its end stay in place. data: (time, batch, ...); axis is 0.

    Args:
        data: shape (length, batch, ...).
        axis: 0.

    Example:
        >>> x = nd.arange(6).reshape((3, 2))
        >>> nd.SequenceReverse(x, nd.array([1, 2]), use_sequence_length=True).asnumpy()
        array([[0., 3.],
               [2., 1.],
               [4., 5.]], dtype=float32)
    """
    if axis != 0:
        raise MXNetError(f"SequenceReverse: axis must be 0, got {axis}")
    lengths = _lengths("SequenceReverse", data, sequence_length, use_sequence_length, axis)
    if lengths is None:
        return op.flip(data, axis=[0])
    steps = torch.arange(data.shape[0], device=lengths.device)[:, None]
    source = torch.where(steps < lengths, lengths - 1 - steps, steps)
    batch = torch.arange(len(lengths), device=lengths.device).expand_as(source)
    return op.gather_nd(data, NDArray(torch.stack([source, batch])))


__all__ = public_names(globals())
