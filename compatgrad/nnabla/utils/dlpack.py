"""Arrays that share their memory with other libraries, by DLPack."""

from torch.utils import dlpack

from .._nd_array import NdArray

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(dlp, arr=None):
    """An NdArray that shares the memory of `dlp`, a DLPack capsule or an array that can make one.

    arr: an NdArray that is to do so, instead of a new one. ValueError for a capsule that is used already, or for
    something else.
    """
    if arr is None:
        arr = NdArray()
    elif not isinstance(arr, NdArray):
        raise TypeError(f"from_dlpack: expected an NdArray as arr, got {type(arr).__name__}")
    try:
        arr.tensor = dlpack.from_dlpack(dlp)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ValueError(f"from_dlpack: expected an unused DLPack capsule, got {dlp!r}") from error
    return arr


def to_dlpack(a, dtype=None, ctx=None):
    """A DLPack capsule that shares the memory of the NdArray `a`.

    dtype, ctx: to which type and to which context's device `a` goes first, in place.
    """
    if not isinstance(a, NdArray):
        raise TypeError(f"to_dlpack: expected an NdArray, got {type(a).__name__}")
    if dtype is not None or ctx is not None:
        a.cast(a.dtype if dtype is None else dtype, ctx)
    return dlpack.to_dlpack(a.tensor)
