"""Arrays that share their memory with other libraries, by DLPack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.utils import dlpack

from .._nd_array import NdArray

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from ..context import Context

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(dlp: Any, arr: NdArray | None = None) -> NdArray:
    """An NdArray that shares the memory of another library's array.

    Args:
        dlp: an unused DLPack capsule, or an array that can make one, of any dtype and shape.
        arr: an NdArray that will share the memory; None for a new one.

    Returns:
        `arr` or the new NdArray, of the dtype and shape of `dlp`.

    Raises:
        TypeError: `arr` is not an NdArray.
        ValueError: `dlp` is a used capsule, or neither a capsule nor such an array.

    Example:
        >>> from compatgrad.nnabla.utils.dlpack import from_dlpack
        >>> tensor = torch.zeros(2)
        >>> array = from_dlpack(tensor)
        >>> tensor += 1
        >>> array.data
        array([1., 1.], dtype=float32)

    Source: `nnabla.utils.dlpack.from_dlpack` of nnabla 1.39.0.
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


def to_dlpack(a: NdArray, dtype: np.dtype | type | str | None = None, ctx: Context | None = None) -> Any:
    """A DLPack capsule that shares the memory of an NdArray.

    Args:
        a: an NdArray of any dtype and shape that has values.
        dtype: the dtype to which `a` is cast first, in place; None for its own.
        ctx: the context to whose device `a` is moved first, in place; None for its own.

    Returns:
        The capsule, which can be used once.

    Raises:
        TypeError: `a` is not an NdArray.

    Example:
        >>> from torch.utils import dlpack
        >>> from compatgrad.nnabla.utils.dlpack import to_dlpack
        >>> dlpack.from_dlpack(to_dlpack(nn.NdArray.from_numpy_array(np.ones(2, np.float32))))
        tensor([1., 1.])

    Source: `nnabla.utils.dlpack.to_dlpack` of nnabla 1.39.0.
    """
    if not isinstance(a, NdArray):
        raise TypeError(f"to_dlpack: expected an NdArray, got {type(a).__name__}")
    if dtype is not None or ctx is not None:
        a.cast(a.dtype if dtype is None else dtype, ctx)
    return dlpack.to_dlpack(a.tensor)
