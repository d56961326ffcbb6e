"""NdArray: the class of the arrays in Variables; functions of NdArrays run at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.tracing import ArrayWithoutValues, is_exporting
from compatgrad.nnabla._attributes import refuse_others

__all__ = ["NdArray"]

_CPU = torch.device("cpu")
_EXACT = 1 << 53  # the largest integers that float64, in which fill values are stored, represents exactly


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype for a NumPy dtype. Raises TypeError for strings, RuntimeError for other dtypes that arrays cannot
    have."""
    given = np.dtype(dtype)
    if given.kind in "SU":
        raise TypeError(f"NdArray: expected numbers, got dtype {given}")
    try:
        if given.kind == "c":
            raise TypeError
        return torch.from_numpy(np.empty(0, given.newbyteorder("="))).dtype
    except TypeError:
        raise RuntimeError(f"NdArray: arrays cannot have the dtype {given}") from None


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """A tensor with a copy of an array, in the machine's byte order, which is the only one that torch supports."""
    return torch.from_numpy(np.array(array, array.dtype.newbyteorder("="), order="C"))


def numpy_dtype(dtype: torch.dtype) -> np.dtype:
    try:
        return np.dtype(str(dtype).removeprefix("torch."))  # this works in a trace too, where tensors have no arrays
    except TypeError:
        return torch.empty(0, dtype=dtype).numpy().dtype


def dimensions(shape: Any) -> tuple[int, ...]:
    """`shape` as a tuple of ints; raises TypeError or ValueError that shows an invalid `shape`."""
    try:
        return tuple(int(n) for n in shape)
    except (TypeError, ValueError) as e:
        raise type(e)(f"shape: expected a tuple of integers, got {shape!r}") from None


class NotAVariable(TypeError, AssertionError):
    """An input of a function is no Variable and no NdArray; nnabla asserts that all are."""


@refuse_others
class NdArray(_C.Array):
    """An n-dimensional array. Functions and operators with an NdArray among their arguments run at once and return
    NdArrays. A new NdArray reads as zeros of float32.

    Args:
        *shape: the lengths of the axes, one by one or as a tuple or list.

    Raises:
        ValueError: a length is no integer.

    Example:
        >>> x = nn.NdArray((2, 3))
        >>> x.data = 2
        >>> F.sum(x * x, axis=1).data
        array([12., 12.], dtype=float32)

    Source: `nnabla.NdArray` of nnabla 1.39.0.
    """

    def __new__(cls, *shape: Any) -> NdArray:
        kinds: tuple[type, ...] = (int, np.integer)
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
            kinds += (float, np.floating)  # floats are cut to integers
        if not all(isinstance(n, kinds) for n in shape):
            raise ValueError(f"NdArray: expected a shape as integers, a tuple or a list of integers, got {shape}")
        return super().__new__(cls, tuple(int(n) for n in shape))

    @staticmethod
    def from_numpy_array(nparr: np.ndarray) -> NdArray:
        """An NdArray with a copy of `nparr`, of its dtype."""
        assert isinstance(nparr, np.ndarray), f"from_numpy_array: expected a numpy.ndarray, got {type(nparr).__name__}"
        array = NdArray(nparr.shape)
        array.tensor = tensor_of(nparr)
        return array

    def __repr__(self) -> str:
        return f"<NdArray({self.shape}) at {hex(id(self))}>"

    __hash__ = _C.Array.__hash__

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, NdArray):
            raise TypeError(f"an NdArray can be compared with an NdArray only, not with {type(other).__name__}")
        return _C.Array.__eq__(self, other)

    # ---- values ------------------------------------------------------------------------------------------------
    @property
    def data(self) -> np.ndarray:
        """The values as a NumPy array that shares memory with this one; assigning replaces values and dtype. Values on
        a GPU are moved to the CPU, together with all arrays that share their memory, and back when a function needs
        them.
        """
        self._move(_CPU)
        try:
            return self.tensor.numpy()
        except (RuntimeError, TypeError) as e:
            if not _C.traced():
                raise
            without: Any = ArrayWithoutValues(self, e)
            return without

    @data.setter
    def data(self, value: Any) -> None:
        if np.isscalar(value) and not isinstance(value, (str, bytes, complex)):
            if value == 0:
                self.zero()
                return
            if np.dtype(type(value)).kind == "f" or abs(value) <= _EXACT:
                self.fill(float(value))
                return
        if isinstance(value, (ArrayWithoutValues, _C.DeferredVariable, NdArray)) and is_exporting():
            # a traced function that assigns arrays gets Variables in their place
            source = value._owner if isinstance(value, ArrayWithoutValues) else getattr(value, "data", value)
            given_shape = torch.empty(source.shape, device="meta").broadcast_to(self.shape).shape
            self.tensor = source.read().expand(given_shape).clone()
            return
        given = np.asarray(value)
        dtype = torch_dtype(given.dtype)
        if self._part:
            self._set_dtype(dtype)
        elif not self._typed or self._dtype != dtype:
            self.tensor = torch.empty(self.shape, dtype=dtype)
        self.data[...] = given

    def get_data(self, mode: str = "rw", dtype: Any = None) -> np.ndarray:
        """The values as a NumPy array. mode: 'r' read-only, 'w' or 'rw'; dtype: the array is cast to it first."""
        if mode == "r":
            values = self.read()
            if notes.listener is not None and values.is_cuda:
                notes.note_move(values, "cpu")
            view = values.cpu().numpy()
            view = view.view() if dtype is None else view.astype(dtype)
            view.flags.writeable = False
            return view
        assert mode in ("w", "rw"), f'Invalid mode is given: "{mode}"'
        return self.data if dtype is None else self.cast(dtype)

    @property
    def dtype(self) -> np.dtype:
        """The values' dtype. Raises RuntimeError for a new array whose values have been neither set nor read."""
        if not self._typed:
            raise RuntimeError("NdArray.dtype: the array has no values yet, and therefore no dtype")
        return numpy_dtype(self._dtype)

    def cast(self, dtype: Any, ctx: Any = None) -> np.ndarray | None:
        """Changes the dtype in place; returns the values as a NumPy array, or None if `ctx` is given. Arrays that
        `narrow` made from this one change their dtype too. Raises RuntimeError for an array that `narrow` made.
        """
        self._set_dtype(torch_dtype(dtype))
        if ctx is None:
            return self.data
        self.tensor  # noqa: B018 - opened for writing
        return None

    def size_from_axis(self, axis: int = -1) -> int:
        """Number of elements from `axis` on; -1: of all axes."""
        return self.size if axis < 0 else int(np.prod(self.shape[axis:], dtype=np.int64))

    @property
    def strides(self) -> list[int]:
        """Steps between elements along each axis, in elements."""
        return [int(np.prod(self.shape[i + 1 :], dtype=np.int64)) for i in range(self.ndim)]

    def copy_from(self, arr: NdArray, use_current_context: bool = True) -> NdArray:
        """Copies the values and the dtype of another array into this one, and returns this one. With
        use_current_context, a source that was only filled with a number counts as float32. Without it, such a source
        keeps its dtype, and one without a dtype raises RuntimeError. Raises RuntimeError if the numbers of elements
        differ.
        """
        if not isinstance(arr, NdArray):
            raise TypeError(f"copy_from: arr: expected an NdArray, got {type(arr).__name__}")
        if arr.size != self.size:
            raise RuntimeError(f"copy_from: an array of shape {arr.shape} does not fit one of shape {self.shape}")
        if not use_current_context and not arr._typed:
            raise RuntimeError("copy_from: the source does not have any array")
        lazy = arr._lazy
        source = arr.read().reshape(self.shape)
        if use_current_context and lazy:
            source = source.float()
        self.tensor = source if self._part else source.clone()
        return self

    def view(self, shape: Any) -> NdArray:
        """An array of another shape on the same memory. Raises RuntimeError if the size differs."""
        array = NdArray(shape)
        if array.size != self.size:
            raise RuntimeError(f"view: a shape of {self.size} elements is needed, got {array.shape}")
        return self._share(array, array.shape, 0, False)

    def narrow(self, dim: int, start: int, length: int) -> NdArray:
        """An array of `length` entries of axis 0, starting at `start`, that shares memory with this array. `dim` must
        be 0. The part always has the dtype of this array and cannot be cast. Raises RuntimeError for another `dim`, for
        a range outside the array, and for a part that overlaps with another part which is still in use.
        """
        if dim != 0 or self.ndim == 0:
            raise RuntimeError(f"narrow: dim must be 0, got {dim} for an array of shape {self.shape}")
        n = self.shape[0]
        if start < 0:
            raise RuntimeError(f"narrow: start must be in [0, {n}), got {start}")
        if length < 0 or start + length > n:
            raise RuntimeError(f"narrow: start {start} and length {length} exceed the axis of {n} entries")
        rest = self.shape[1:]
        array = NdArray((length, *rest))
        return self._share(array, array.shape, start * int(np.prod(rest, dtype=np.int64)), True)

    def data_ptr(self, dtype: Any, ctx: Any = None, write_only: bool = False) -> int:
        """Address of the values, cast to `dtype` first."""
        self.cast(dtype)
        return self.tensor.data_ptr()

    def bool_fill_(self, mask: NdArray, value: float) -> NdArray:
        """Sets the values where `mask` is not 0 to `value`; returns this array."""
        self.tensor[mask.read().broadcast_to(self.shape) != 0] = value
        return self

    bool_fill = masked_fill = masked_fill_ = bool_fill_
