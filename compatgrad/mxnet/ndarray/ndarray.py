"""NDArray: a torch tensor with MXNet's interface. Methods that need modules which import this one are in `_methods`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.arrays import refuse_dlpack as _refuse_dlpack
from compatgrad.core.shared_memory import note_shared

from .._frontend import fe, op
from ..base import MXNetError
from ..context import Context, context_of, cpu
from . import _indexing, _late
from ._checks import check_same_shape as check_same_shape
from ._checks import torch_dtype as torch_dtype

__all__ = ["NDArray", "waitall"]

_get_mode = _C.get_mode
_in_graph, _mark, _gradient_of, _fresh = _C.in_graph, _C.mark, _C.gradient_of, _C.fresh
_data_dtype, _copied_array = _C.Variable.dtype.__get__, _C.Variable._copied_array

_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_DTYPE_NP_TO_MX = {
    None: -1, np.float32: 0, np.float64: 1, np.float16: 2, np.uint8: 3, np.int32: 4, np.int8: 5, np.int64: 6,
    np.bool_: 7,
}  # fmt: skip
_DTYPE_MX_TO_NP = {number: dtype for dtype, number in _DTYPE_NP_TO_MX.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
_STORAGE_TYPE_ID_TO_STR = {number: name for name, number in _STORAGE_TYPE_STR_TO_ID.items()}
py_slice = slice


def is_recording() -> bool:
    """Whether operators are recorded in this thread.

    Returns:
        True inside `autograd.record()`, unless `autograd.pause()` is inside of it.

    Example:
        >>> with autograd.record():
        ...     autograd.is_recording()
        True

    Source: `mxnet.autograd.is_recording` of MXNet 1.9.1.
    """
    return _get_mode("recording")


def is_training() -> bool:
    """Whether layers train in this thread: dropout drops, batch normalization uses the batch.

    Returns:
        True inside `autograd.record()` and `autograd.train_mode()`, False outside and in `predict_mode()`.

    Example:
        >>> with autograd.train_mode():
        ...     autograd.is_training()
        True

    Source: `mxnet.autograd.is_training` of MXNet 1.9.1.
    """
    return _get_mode("training")


def waitall() -> None:
    """Waits for all work on a GPU, and raises pending errors.

    Raises:
        Exception: an error that was kept since the last wait, such as that of a distribution's parameter out of range.

    Example:
        >>> x = nd.random.uniform(high=-1.0, shape=2)
        >>> try:
        ...     nd.waitall()
        ... except mx.MXNetError as e:
        ...     print(e)
        random_uniform: low must not be greater than high, got low=0.0, high=-1.0

    Source: `mxnet.nd.waitall` of MXNet 1.9.1.
    """
    _late.meet()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


class NDArray(_C.Variable):
    """An array on a device. Programs make one by functions such as `nd.array` and `nd.zeros`.

    Operators run at once; inside `autograd.record()` those on marked arrays are recorded. Assignments and in-place
    operators write into the memory, which slices `x[a:b]` share; on arrays of a recorded graph they raise inside
    `record()`.

    Args:
        handle: a torch tensor, whose memory is shared, or another NDArray.
        writable: assignments may change the array.

    Raises:
        TypeError: `handle` is neither.
        ValueError: it is written to and not writable; it is asked for its truth value and has several elements.
        mxnet.base.MXNetError: it is written to while it is in a recorded graph.

    Example:
        >>> x = nd.array([[1, 2], [3, 4]])
        >>> x[0] = 0
        >>> (x + 1).asnumpy()
        array([[1., 1.],
               [4., 5.]], dtype=float32)
        >>> x.shape, x.dtype, x.context
        ((2, 2), <class 'numpy.float32'>, cpu(0))

    Source: `mxnet.nd.NDArray` of MXNet 1.9.1.
    """

    _frontend = fe
    _zero_dim = False  # whether results may have no dimension
    _ctx: Context | None = None  # the context, if the tensor's device does not determine it
    stype = "default"

    def __init__(self, handle: torch.Tensor | NDArray | None, writable: bool = True) -> None:
        if isinstance(handle, NDArray):
            handle = handle.tensor
        # a tensor that requires a gradient in torch enters the graph by a function that is always recorded
        try:
            super().__init__(handle, handle is not None and handle.requires_grad)
        except AttributeError:
            got = type(handle).__name__
            raise TypeError(f"NDArray: handle: expected a torch tensor or an NDArray, got {got}") from None
        if not writable:
            self._writable = False

    # ---- attributes --------------------------------------------------------------------------------------------
    _writable = True

    @property
    def dtype(self) -> type:
        """NumPy's type of the elements, such as `numpy.float32`."""
        return _data_dtype(self).type

    @property
    def context(self) -> Context:
        """The device of the array."""
        return self._ctx or context_of(self.tensor.device)

    ctx = device = context

    @property
    def handle(self) -> int:
        """A number that identifies the array's memory."""
        return self.tensor.data_ptr()

    @property
    def T(self) -> NDArray:
        """A copy with the axes in reverse order; the array itself where it has one axis."""
        return _C.own(op.transpose(self), self) if self.ndim > 1 else self

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.shape)
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {shape} @{self.context}>"

    def __hash__(self) -> int:
        return id(self) >> 4

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.asscalar())
        if self.size == 0:
            return False
        raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")

    def _number(self, kind: type) -> Any:
        if self.size != 1:
            raise TypeError(f"only an NDArray of one element is a number: {kind.__name__}() of shape {self.shape}")
        return kind(self.asscalar())

    def __float__(self) -> float:
        return self._number(float)

    def __int__(self) -> int:
        return self._number(int)

    def __index__(self) -> int:
        if self.size != 1 or self.tensor.is_floating_point():
            raise TypeError("only integer scalar NDArrays can be converted to an index")
        return int(self.asscalar())

    def __iter__(self):
        if not self.shape:  # raised by iter() itself, which np.iterable relies on
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).asnumpy().any())

    def to_dlpack_for_read(self) -> Any:
        """The array as a DLPack capsule, on the same memory."""
        note_shared(self.tensor)
        return torch.utils.dlpack.to_dlpack(self.tensor)

    to_dlpack_for_write = to_dlpack_for_read

    def __deepcopy__(self, memo: Any) -> NDArray:
        return self.copy()

    def __copy__(self) -> NDArray:
        return self.copy()

    # ---- values ------------------------------------------------------------------------------------------------
    def asnumpy(self) -> np.ndarray:
        """The values as a new NumPy array."""
        if _late._kept:
            _late.meet()
        if notes.listener is not None and self.tensor.is_cuda:
            notes.note_move(self.tensor, "cpu")
        return _copied_array(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        a = self.asnumpy()
        return a if dtype is None else a.astype(dtype, copy=False)

    def asscalar(self) -> Any:
        """The only element, as a NumPy scalar. ValueError if there are more or none."""
        if self.size != 1:
            raise ValueError(f"The current array is not a scalar: its shape is {self.shape}")
        return self.asnumpy().reshape(-1)[0]

    item = asscalar

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The array with elements of another type; itself where the type is the same and `copy` is false."""
        t = torch_dtype(dtype, "astype: dtype")
        if not copy and self.tensor.dtype == t:
            return self
        return op.cast(self, dtype=t) if self.tensor.dtype != t else op.copy(self)

    def copy(self) -> NDArray:
        """A new array of the same values."""
        return self._with_context(op.copy(self))

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copies the values into another array, which is given back, or into a new one on another device."""
        if isinstance(other, Context):
            return _on(op.copy(self) if other.torch_device == self.tensor.device else _moved(self, other), other)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto does not support type {type(other)}: expected an NDArray or a Context")
        if other is self:
            return other
        check_same_shape("copyto", "other", other, self)
        if other.stype == "default" and other._can_take(self):
            other[:] = self
            return other
        return other._write(self)

    def as_in_context(self, context: Context) -> NDArray:
        """The array on a device; the array itself if it is already on the device."""
        return self if self.context == context else self.copyto(context)

    as_in_ctx = to_device = as_in_context

    def wait_to_read(self) -> None:
        """Waits until the values are computed, and raises a pending error (`_late`)."""
        _late.meet()
        if self.tensor.is_cuda:
            waitall()

    def as_nd_ndarray(self) -> NDArray:
        """The array as a legacy array: itself."""
        return self

    def _with_context(self, y: NDArray) -> NDArray:
        return y if self._ctx is None else _on(y, self._ctx)

    # ---- writing -----------------------------------------------------------------------------------------------
    @property
    def writable(self) -> bool:
        """Whether assignments may change the array."""
        return self._writable

    def _check_writable(self, value: Any = None) -> None:
        if not self._writable:
            raise ValueError("trying to write to a readonly NDArray")
        if is_recording() and (_in_graph(self) or (isinstance(value, NDArray) and _in_graph(value))):
            raise MXNetError(
                "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd: the array is "
                "in a computational graph, whose gradients would be wrong. Write outside of record(), or call backward "
                "first"
            )

    def _can_take(self, value: Any) -> bool:
        """Whether writing `value` over the whole array makes the array stand for `value` in the graph."""
        return is_recording() and isinstance(value, NDArray) and bool(_in_graph(value)) and not _in_graph(self)

    def _write(self, value: NDArray, name: str = "copy") -> NDArray:
        """Overwrites the memory with the result of the operator `name`."""
        self._check_writable(value)
        if value.shape != self.shape:  # torch would raise an error that is no MXNetError
            raise MXNetError(f"{name}: the result of shape {value.shape} does not fit into the array of {self.shape}")
        self.tensor.copy_(value.tensor)
        return self

    def _take(self, value: NDArray) -> NDArray:
        """`out=` of an operator: overwrites the memory, and takes the place of the result in the graph."""
        if value.shape != self.shape:
            raise MXNetError(f"out: expected an NDArray of shape {value.shape}, got one of shape {self.shape}")
        if not self._writable:
            raise ValueError("out: trying to write to a readonly NDArray")
        if is_recording() and _in_graph(self):
            self._check_writable()
        self.tensor.copy_(value.tensor)
        if _in_graph(value):
            _C.take_place(self, value)
        return self

    def __getitem__(self, key: Any) -> NDArray:
        return _indexing.get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _indexing.set_item(self, key, value)

    @staticmethod
    def _basic_indexing_slice_is_contiguous(slc_key: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
        """Whether slices, one for each axis of `shape`, select memory without gaps."""
        parts = [range(n)[k] for k, n in zip(slc_key, shape, strict=True)]
        if math.prod(map(len, parts)) <= 1:
            return True
        whole = True  # whether the slices so far, from the right, select whole axes
        for part, n in zip(reversed(parts), reversed(shape), strict=True):
            if len(part) > 1 and (part.step != 1 or not whole):
                return False
            whole = whole and len(part) == n
        return True

    def _slice(self, start: int, stop: int) -> NDArray:
        """`self[start:stop]`; programs call it by this name."""
        return self[start:stop]

    def _at(self, index: int) -> NDArray:
        """`self[index]`; programs call it by this name."""
        return self[index]

    # ---- gradients ---------------------------------------------------------------------------------------------
    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Marks the array: `backward` writes ("write"), adds ("add") or leaves out ("null") its gradient.

        Inside `record()` the array becomes a leaf, cut from how it was computed. Outside, an array whose history is
        recorded keeps it and also gets its gradient. `stype`: the gradient's storage type, the array's own unless
        given.
        """
        stype = stype or self.stype
        if stype not in ("default", "csr", "row_sparse"):
            raise ValueError(f"unknown storage type {stype!r}: expected 'default', 'csr' or 'row_sparse'")
        cls = self._frontend.variable_class
        gradient = self._with_context(cls(torch.zeros_like(self.tensor)))
        self._mark(gradient if stype == "default" else gradient.tostype(stype), grad_req)

    def _mark(self, gradient: NDArray, grad_req: str) -> None:
        if grad_req not in ("write", "add", "null"):
            raise KeyError(f"grad_req: expected 'write', 'add' or 'null', got {grad_req!r}")
        wanted = grad_req != "null"
        _mark(self, gradient if wanted else None, grad_req == "add", not is_recording())
        self._grad_array = gradient if not wanted or gradient.stype != "default" else None

    _grad_array: NDArray | None = None  # the gradient, where it is sparse, or is not computed

    @property
    def _is_marked(self) -> bool:
        return _fresh(self) is not None

    @property
    def grad(self) -> NDArray | None:
        """The gradient's array, None if the array was not marked."""
        g = self._grad_array
        return self._grad_like(_gradient_of(self)) if g is None else g

    def _grad_like(self, g: NDArray | None) -> NDArray | None:
        if g is not None and self._ctx is not None:
            g._ctx = self._ctx
        return g

    @property
    def _fresh_grad(self) -> bool:
        """Whether `backward` wrote the gradient since this was set to False."""
        return bool(_fresh(self))

    @_fresh_grad.setter
    def _fresh_grad(self, value: bool) -> None:
        _fresh(self, value)

    def drop_grad(self) -> None:
        """Undoes `attach_grad`: no gradient is kept for this array. A recorded array keeps its history."""
        _C.drop_mark(self)
        self._grad_array = None

    def detach(self) -> NDArray:
        """The same memory, without history."""
        return self._with_context(_C.constant(self))


def _on(x: NDArray, context: Context) -> NDArray:
    """Stores a context that the tensor's device does not determine, and returns x."""
    if context.device_type != "gpu" and (context.device_id or context.device_type != "cpu"):
        x._ctx = context
    elif x._ctx is not None:
        x._ctx = None
    return x


def _moved(x: NDArray, context: Context) -> NDArray:
    """A copy on another device, recorded where x is."""
    if notes.listener is not None:
        notes.note_move(x.tensor, context.torch_device)
    if is_recording() and _in_graph(x):
        return op.to_device(x, device=str(context.torch_device))
    return NDArray(x.tensor.to(context.torch_device))


fe.variable_class = NDArray
_refuse_dlpack(NDArray, "x.asnumpy(), or x.to_dlpack_for_read() as a capsule")
_default = cpu()
