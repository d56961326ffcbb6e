"""Operators that join, split, select, convert or copy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from compatgrad import _C

from ..base import MXNetError
from . import _stored
from ._arguments import as_ints, axis_in, choice, constant, dtype_name, one_dtype, public_names
from ._indexing import in_range
from ._operator import op, operator
from .ndarray import NDArray, is_recording, torch_dtype


def _some(name: str, arrays: Sequence[NDArray]) -> None:
    if not arrays:
        raise MXNetError(f"{name}: expected at least one array, got none")
    one_dtype(name, arrays)


@operator("*data", aliases=("Concat",))
def concat(data, dim=1):
    """Arrays joined along the axis `dim`. MXNetError if their other axes or dtypes differ.

    Args:
        data: arrays of one dtype whose shapes differ along `dim` only; a list of them may be given as the only
            argument.

    Example:
        >>> nd.concat(nd.array([[1.0]]), nd.array([[2.0, 3.0]]), dim=1).asnumpy()
        array([[1., 2., 3.]], dtype=float32)
    """
    _some("concat", data)
    first = data[0].shape
    axis = axis_in("concat", dim, len(first), "dim")
    for i, a in enumerate(data):
        if len(a.shape) != len(first) or a.shape[:axis] + a.shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            raise MXNetError(
                f"concat: input {i} has the shape {a.shape}, which differs from that of input 0, {first}, "
                f"in more than axis {axis}"
            )
    y = op.concat(data, axis=axis) if len(data) > 1 else op.identity(data[0])
    return _stored.joined(y, data, axis) if data[0].stype == "csr" else y


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis.

    Args:
        arrays: a list of at least one NDArray; all of one dtype and of one shape but for `axis`.
        axis: the axis along which they are joined; negative ones count from the end.
        always_copy: a single array is copied too; else it comes back as it is.

    Returns:
        NDArray of the dtype of the arrays.

    Raises:
        AssertionError: there is no array, one is no NDArray, or dtypes or other axes differ.
        mxnet.base.MXNetError: there is no such axis.

    Example:
        >>> nd.concatenate([nd.array([[1, 2]]), nd.array([[3, 4]])], axis=0).asnumpy()
        array([[1., 2.],
               [3., 4.]], dtype=float32)

    Source: `mxnet.nd.concatenate` of MXNet 1.9.1.
    """
    assert isinstance(arrays, (list, tuple)) and arrays, "concatenate: expected a list of at least one array"
    first = arrays[0]
    for a in arrays:
        assert isinstance(a, NDArray), f"concatenate: expected NDArrays, got {type(a).__name__}"
    if not always_copy and len(arrays) == 1:
        return first
    for a in arrays[1:]:
        assert a.dtype == first.dtype, f"concatenate: arrays of dtype {dtype_name(a)} and {dtype_name(first)}"
        assert a.ndim == first.ndim and all(
            m == n or i == axis % first.ndim for i, (m, n) in enumerate(zip(a.shape, first.shape, strict=True))
        ), f"concatenate: shapes {a.shape} and {first.shape} differ in more than axis {axis}"
    return concat(*arrays, dim=axis)


@operator("*data")
def stack(data, axis=0):
    """Arrays of one shape joined along a new axis. MXNetError if shapes or dtypes differ.

    Args:
        data: arrays of one shape and dtype; a list of them may be given as the only argument.
        axis: where the new axis stands.

    Example:
        >>> nd.stack(nd.array([1.0, 2.0]), nd.array([3.0, 4.0]), axis=1).asnumpy()
        array([[1., 3.],
               [2., 4.]], dtype=float32)
    """
    _some("stack", data)
    first = data[0].shape
    for i, a in enumerate(data):
        if a.shape != first:
            raise MXNetError(f"stack: input {i} has the shape {a.shape}, input 0 has {first}")
    return op.stack(data, axis=axis_in("stack", axis, len(first) + 1))


@operator("data", aliases=("SliceChannel",), method=True, outputs=lambda p: p.get("num_outputs") or 1)
def split(data, num_outputs, axis=1, squeeze_axis=False):
    """`num_outputs` equal parts along `axis`, without that axis if `squeeze_axis`: a list, or the only part itself.

    MXNetError if the axis cannot be divided so.

    Returns:
        A list of NDArrays; with num_outputs=1 the only one itself.

    Example:
        >>> [y.asnumpy().tolist() for y in nd.split(nd.array([[1.0, 2.0]]), num_outputs=2, axis=1)]
        [[[1.0]], [[2.0]]]
    """
    axis = axis_in("split", axis, data.tensor.dim())
    n = data.shape[axis]
    if num_outputs < 1 or n % num_outputs:
        raise MXNetError(
            f"split: axis {axis} of shape {data.shape} cannot be split into num_outputs={num_outputs} equal parts"
        )
    if squeeze_axis and n != num_outputs:
        raise MXNetError(
            f"split: with squeeze_axis, num_outputs must be the size of axis {axis}, {n}, got {num_outputs}"
        )
    size = n // num_outputs
    return _parts(data, list(range(size, n, size)) if size else [], axis, squeeze_axis)


def _parts(data: NDArray, indices: list[int], axis: int, squeeze_axis: bool) -> list[NDArray] | NDArray:
    parts = list(op.split(data, indices=indices, axis=axis)) if indices else [op.identity(data)]
    if squeeze_axis:
        parts = [op.squeeze(p, axis=[axis]) for p in parts]
    return parts if len(parts) > 1 else parts[0]


@operator("data", outputs=lambda p: p["sections"] or len(p["indices"]))
def _split_v2(data, indices=(), axis=1, squeeze_axis=False, sections=0):
    """Parts of an axis: `sections` equal ones, or those that begin at 0 and at `indices`."""
    axis = axis_in("split_v2", axis, data.tensor.dim())
    n = data.shape[axis]
    cuts = [c + n if c < 0 else c for c in as_ints("split_v2", "indices", indices)]
    if sections:
        if n % sections:
            raise MXNetError(f"split_v2: axis {axis} of shape {data.shape} has no {sections} equal parts")
        cuts = [n // sections * i for i in range(1, sections)]
    elif cuts and cuts[0] == 0:  # symbols also list the 0 where the first part begins
        cuts = cuts[1:]
    if cuts != sorted(cuts) or (cuts and cuts[-1] > n):
        raise MXNetError(f"split_v2: indices must not decrease, nor exceed the size {n}, got {indices}")
    return _parts(data, cuts, axis, squeeze_axis)


def split_v2(
    ary: NDArray, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> NDArray | list[NDArray]:
    """Parts of an array along an axis.

    Args:
        ary: any shape, any dtype.
        indices_or_sections: the number of equal parts, or the indices at which parts begin, but for the first part.
        axis: the axis; negative ones count from the end.
        squeeze_axis: parts of length 1 lose the axis.

    Returns:
        A list of NDArrays; of one part only, the part itself.

    Raises:
        ValueError: the axis cannot be divided so, or `indices_or_sections` is neither an int nor a tuple or list.
        mxnet.base.MXNetError: indices decrease or exceed the axis; there is no such axis.

    Example:
        >>> [y.asnumpy().tolist() for y in nd.split_v2(nd.arange(6), (2, 3))]
        [[0.0, 1.0], [2.0], [3.0, 4.0, 5.0]]

    Source: `mxnet.nd.split_v2` of MXNet 1.9.1.
    """
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or ary.shape[axis] % indices_or_sections:
            raise ValueError(
                f"array split does not result in an equal division: {ary.shape[axis]} by {indices_or_sections}"
            )
        return _split_v2(ary, (), axis, squeeze_axis, indices_or_sections)
    if isinstance(indices_or_sections, (tuple, list, set)):
        return _split_v2(ary, (0, *indices_or_sections), axis, squeeze_axis)
    raise ValueError(f"indices_or_sections must either int or tuple of ints, got {type(indices_or_sections).__name__}")


NDArray.split_v2 = split_v2


@operator("*args", aliases=("ElementWiseSum",))
def add_n(args):
    """The sum of arrays of one shape. MXNetError if shapes or dtypes differ.

    Example:
        >>> nd.add_n(nd.array([1.0]), nd.array([2.0]), nd.array([3.0])).asnumpy()
        array([6.], dtype=float32)
    """
    _some("add_n", args)
    for i, a in enumerate(args):
        if a.shape != args[0].shape:
            raise MXNetError(f"add_n: input {i} has the shape {a.shape}, input 0 has {args[0].shape}")
    return op.add_n(args) if len(args) > 1 else op.identity(args[0])


@operator("condition, x, y")
def where(condition, x, y):
    """`x` where `condition` is not 0, else `y`. `condition` has their shape, or chooses among slices of axis 0.

    MXNetError if shapes or the dtypes of x and y differ.

    Returns:
        NDArray of the dtype of `x`.

    Example:
        >>> nd.where(nd.array([1, 0]), nd.array([1.0, 2.0]), nd.array([3.0, 4.0])).asnumpy()
        array([1., 4.], dtype=float32)
    """
    one_dtype("where", (x, y))
    if x.shape != y.shape:
        raise MXNetError(f"where: x and y must have one shape, got {x.shape} and {y.shape}")
    if condition.shape != x.shape:
        if condition.shape != x.shape[:1]:
            raise MXNetError(f"where: condition must have the shape {x.shape} or {x.shape[:1]}, got {condition.shape}")
        condition = NDArray(condition.tensor.reshape(-1, *[1] * (x.tensor.dim() - 1)))
    return op.where(condition, x, y)


@operator("data", method=True, stored=_stored.same)
def zeros_like(data):
    """Zeros of data's shape, dtype and device; constant.

    Example:
        >>> nd.zeros_like(nd.array([1.0, 2.0])).asnumpy()
        array([0., 0.], dtype=float32)
    """
    return constant(torch.zeros_like(data.tensor, memory_format=torch.contiguous_format), data)


@operator("data", method=True)
def ones_like(data):
    """Ones of data's shape, dtype and device; constant.

    Example:
        >>> nd.ones_like(nd.array([1.0, 2.0])).asnumpy()
        array([1., 1.], dtype=float32)
    """
    return constant(torch.ones_like(data.tensor, memory_format=torch.contiguous_format), data)


@operator("data", method=True)
def shape_array(data):
    """The shape, as int64.

    Returns:
        int64, one axis.

    Example:
        >>> nd.shape_array(nd.ones((2, 3))).asnumpy()
        array([2, 3])
    """
    return constant(torch.tensor(data.shape, dtype=torch.int64, device=data.tensor.device), data)


@operator("data", method=True)
def size_array(data):
    """The number of elements, as int64 of shape (1,).

    Returns:
        int64, shape (1,).

    Example:
        >>> nd.size_array(nd.ones((2, 3))).asnumpy()
        array([6])
    """
    return constant(torch.tensor([data.size], dtype=torch.int64, device=data.tensor.device), data)


@operator("data", aliases=("Cast",))
def cast(data, dtype):
    """The array with another dtype; fractions are cut off. TypeError for what is no dtype.

    Args:
        dtype: the dtype of the result.

    Returns:
        NDArray of `dtype`.

    Example:
        >>> nd.cast(nd.array([1.7, -1.7]), dtype="int32").asnumpy()
        array([ 1, -1], dtype=int32)
    """
    t = torch_dtype(dtype, "cast: dtype")
    return op.identity(data) if t == data.tensor.dtype else op.cast(data, dtype=t)


@operator("data")
def amp_cast(data, dtype):
    """Floats as another floating dtype; other arrays unchanged.

    Args:
        dtype: the dtype of the result.

    Returns:
        NDArray of `dtype` if `data` is floating-point, else of that of `data`.

    Example:
        >>> nd.amp_cast(nd.array([1.5]), dtype="float16").dtype
        <class 'numpy.float16'>
    """
    t = torch_dtype(dtype, "amp_cast: dtype")
    if t == data.tensor.dtype or not data.tensor.is_floating_point() or not t.is_floating_point:
        return op.identity(data)
    return op.cast(data, dtype=t)


@operator("*data", outputs=lambda p: p.get("num_outputs") or 1)
def amp_multicast(data, num_outputs=None, cast_narrow=False):
    """A list: floats as the widest (cast_narrow: narrowest) of their dtypes, other arrays unchanged.

    Args:
        data: arrays of any shapes and dtypes; a list of them may be given as the only argument.
        num_outputs: the number of arrays.

    Returns:
        A list of NDArrays.

    Example:
        >>> arrays = nd.array([1.0], dtype="float16"), nd.array([2.0])
        >>> [y.dtype.__name__ for y in nd.amp_multicast(*arrays, num_outputs=2)]
        ['float32', 'float32']
    """
    _count("amp_multicast", "num_outputs", num_outputs, data)
    floats = [a.tensor.dtype for a in data if a.tensor.is_floating_point()]
    if not floats:
        return [op.identity(a) for a in data]
    chosen = (min if cast_narrow else max)(floats, key=lambda d: d.itemsize)
    return [
        op.cast(a, dtype=chosen) if a.tensor.is_floating_point() and a.tensor.dtype != chosen else op.identity(a)
        for a in data
    ]


def _count(name: str, argument: str, given: int | None, data: Sequence[NDArray]) -> None:
    if given is not None and given != len(data):
        raise MXNetError(f"{name}: {argument} is {given}, but {len(data)} arrays are given")


def _limited(data: NDArray, low: float | None, high: float | None) -> NDArray:
    """A new array: elements below `low` become `low`, those above `high` become `high`; where both apply, `high` wins,
    as in MXNet. A gradient passes where an element stays as it is."""
    t = data.tensor
    if t.is_floating_point() and not (low is not None and high is not None and low > high):
        low, high = (None if v is None else in_range(v, t.dtype) for v in (low, high))
        return op.clip(data, min=low, max=high, product=False)
    # Limits of integers are compared as they are: torch's comparisons would convert them to the dtype first.
    x, kept = t if t.is_floating_point() else t.double(), t
    if low is not None:
        kept = torch.where(x < low, t.new_tensor(in_range(low, t.dtype)), kept)
    if high is not None:
        kept = torch.where(x > high, t.new_tensor(in_range(high, t.dtype)), kept)
    return op.where(type(data)(kept == t), data, type(data)(kept))


@operator("data", method=True, stored=_stored.clipped)
def clip(data, a_min, a_max):
    """Elements limited to [a_min, a_max]; the gradient on a limit is 1, beyond it 0.

    Example:
        >>> nd.clip(nd.array([-1.0, 0.5, 2.0]), 0.0, 1.0).asnumpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return _limited(data, a_min, a_max)


@operator("a")
def cumsum(a, axis=None, dtype=None):
    """Sums up to each element along `axis`, or in the flattened array; in `dtype` if given, of booleans in int64.

    Args:
        axis: the axis; None for the array as one row.

    Example:
        >>> nd.cumsum(nd.array([1.0, 2.0, 3.0])).asnumpy()
        array([1., 3., 6.], dtype=float32)
    """
    own = torch.int64 if a.tensor.dtype == torch.bool else a.tensor.dtype
    t = own if dtype is None else torch_dtype(dtype, "cumsum: dtype")
    x = a if a.tensor.dtype == t else op.cast(a, dtype=t)
    y = op.cumsum(x, axis=None if axis is None else axis_in("cumsum", axis, a.tensor.dim()))
    return y if y.tensor.dtype == t else op.cast(y, dtype=t)


@operator("data", aliases=("stop_gradient",))
def BlockGrad(data):
    """The values as a constant: no gradient passes.

    Example:
        >>> x = nd.array([2.0])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = nd.BlockGrad(x) * x
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([2.], dtype=float32)
    """
    return op.stop_gradient(data)


@operator("data", aliases=("_copy",))
def identity(data):
    """A copy.

    Example:
        >>> nd.identity(nd.array([1.0, 2.0])).asnumpy()
        array([1., 2.], dtype=float32)
    """
    return op.identity(data)


def _loss(data: NDArray, scale: float) -> NDArray:
    slope = data if scale == 1 else op.mul_scalar(data, value=scale)
    return op.add(op.stop_gradient(data), op.sink([slope]))


@operator("data")
def make_loss(data):
    """The values as a loss: their gradient is 1 for any head gradient.

    Example:
        >>> nd.make_loss(nd.array([1.0, 2.0])).asnumpy()
        array([1., 2.], dtype=float32)
    """
    return _loss(data, 1.0)


@operator("data")
def MakeLoss(data, grad_scale=1.0, valid_thresh=0.0, normalization="null"):
    """The values as a loss: their gradient is `grad_scale` for any head gradient.

    normalization: "batch" divides it by the length of axis 0, "valid" by the number of elements above `valid_thresh`.

    Args:
        normalization: divides the gradient by 1 ("null"), the length of the batch ("batch") or the number of elements
            above `valid_thresh` ("valid").

    Example:
        >>> nd.MakeLoss(nd.array([1.0, 2.0])).asnumpy()
        array([1., 2.], dtype=float32)
    """
    choice("MakeLoss", "normalization", normalization)
    if normalization == "batch":
        grad_scale /= max(data.shape[0], 1)
    elif normalization == "valid":
        grad_scale /= max(int((data.tensor > valid_thresh).sum()), 1)
    return _loss(data, grad_scale)


@operator("*data")
def multi_sum_sq(data, num_arrays=None):
    """The sums of squares of several arrays, as float32 of shape (arrays,).

    Args:
        data: floating-point arrays of any shapes; a list of them may be given as the only argument.

    Returns:
        float32, one number for each array.

    Example:
        >>> nd.multi_sum_sq(nd.array([1.0, 2.0]), nd.array([3.0]), num_arrays=2).asnumpy()
        array([5., 9.], dtype=float32)
    """
    _count("multi_sum_sq", "num_arrays", num_arrays, data)
    _some("multi_sum_sq", data)
    if not is_recording() and all(a.stype == "default" for a in data):
        total = _C.optim_sums(data, False)
        return NDArray(total if data[0].tensor.dtype == torch.float64 else total.float())
    sums = [op.sum(op.square(op.reshape(a, shape=(-1,))), axis=[0], keepdims=True) for a in data]
    total = op.concat(sums, axis=0)
    return total if total.tensor.dtype in (torch.float32, torch.float64) else op.cast(total, dtype=torch.float32)


@operator("data")
def all_finite(data, init_output=True):
    """1 if all elements are finite, else 0; float32 of shape (1,).

    Args:
        data: floating point, any shape.

    Returns:
        float32, shape (1,).

    Example:
        >>> nd.all_finite(nd.array([1.0, float("inf")])).asnumpy()
        array([0.], dtype=float32)
    """
    return _all_finite([data])


@operator("*data")
def multi_all_finite(data, num_arrays=None, init_output=True):
    """1 if all elements of all arrays are finite, else 0; float32 of shape (1,).

    Args:
        data: floating-point arrays of any shapes; a list of them may be given as the only argument.

    Returns:
        float32, shape (1,).

    Example:
        >>> nd.multi_all_finite(nd.array([1.0]), nd.array([2.0]), num_arrays=2).asnumpy()
        array([1.], dtype=float32)
    """
    _count("multi_all_finite", "num_arrays", num_arrays, data)
    return _all_finite(data)


def _all_finite(arrays: Sequence[NDArray]) -> NDArray:
    # one reduction on the device, for which nothing waits
    return NDArray(_C.optim_sums([a.tensor for a in arrays], True).sum().eq(0).float().reshape(1))


@operator("*data")
def reset_arrays(data, num_arrays=None):
    """Overwrites all arrays with zeros.

    Args:
        data: arrays of any shapes and dtypes; a list of them may be given as the only argument.

    Example:
        >>> x = nd.array([1.0, 2.0])
        >>> _ = nd.reset_arrays(x, num_arrays=1)
        >>> x.asnumpy()
        array([0., 0.], dtype=float32)
    """
    _count("reset_arrays", "num_arrays", num_arrays, data)
    for a in data:
        a._write(NDArray(torch.zeros_like(a.tensor)))
    return []


__all__ = public_names(globals(), "concatenate", "split_v2")
