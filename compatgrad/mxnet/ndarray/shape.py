"""Operators that rearrange elements: reshape, transpose, repeat, pad, diag, broadcast and others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..base import MXNetError
from ._arguments import as_ints, axes_in, axis_in, choice, public_names, require_ndim, vector
from ._operator import op, operator
from .ndarray import NDArray


def _reshaped(name: str, sizes: Sequence[int], codes: Any, reverse: bool = False) -> list[int]:
    """The shape to which `codes` refer for an array of these sizes.

    0 keeps a size; -1, once, is inferred; -2 keeps all remaining sizes; -3 merges two sizes; -4 splits a size into the
    two that follow, one of which may be -1. `reverse`: codes are matched from the last size on. MXNetError if a code
    has no size left. The number of elements is not checked.
    """
    codes = as_ints(name, "shape", codes)
    sizes = list(sizes)

    def refuse(why: str) -> MXNetError:
        return MXNetError(f"{name}: cannot reshape an array of shape {tuple(sizes)} to shape {tuple(codes)}: {why}")

    source, wanted = (sizes[::-1], codes[::-1]) if reverse else (sizes, codes)
    result: list[int] = []
    at = i = 0  # positions in source and wanted
    unknown = -1

    def next_size(code: int) -> int:
        nonlocal at
        if at >= len(source):
            raise refuse(f"there is no axis left for {code}")
        at += 1
        return source[at - 1]

    while i < len(wanted):
        code = wanted[i]
        i += 1
        if code == 0:
            result.append(next_size(code))
        elif code == -1:
            if unknown >= 0:
                raise refuse("only one size can be -1")
            unknown = len(result)
            result.append(1)
            at += 1
        elif code == -2:
            result += source[at:]
            at = len(source)
        elif code == -3:
            result.append(next_size(code) * next_size(code))
        elif code == -4:
            size, parts = next_size(code), wanted[i : i + 2]
            i += 2
            if len(parts) < 2 or parts == [-1, -1] or min(parts) < -1:
                raise refuse("-4 is followed by the two sizes to split into, one of which may be -1")
            known = -prod(parts) if -1 in parts else prod(parts)
            if size % known if -1 in parts and known else known != size:
                raise refuse(f"{size} cannot be split into {tuple(parts)}")
            result += [size // known if p == -1 and known else p for p in parts]
        elif code < 0:
            raise refuse(f"{code} is no valid size")
        else:
            result.append(code)
            at += 1
    if unknown >= 0:
        result[unknown] = prod(source) // prod(result) if prod(result) else 0
    return result[::-1] if reverse else result


def _old_target(data: NDArray, target: list[int], keep_highest: bool) -> list[int]:
    """The shape from the deprecated argument target_shape, in which 0 is inferred."""
    if keep_highest and target:
        target = [data.shape[0], *target[1:]]
    return [n or -1 for n in target]


@operator("data", aliases=("Reshape",))
def reshape(data, shape=(), reverse=False, target_shape=(), keep_highest=False):
    """The elements in C order in another shape.

    `reverse` matches the codes in `shape` from the end. MXNetError if the number of elements differs.

    Args:
        shape: new lengths; 0 keeps one, -1 is inferred, -2 keeps all remaining ones, -3 merges two, -4 splits one into
            the two that follow.

    Example:
        >>> nd.reshape(nd.ones((2, 3, 4)), shape=(0, -1)).shape
        (2, 12)
        >>> nd.reshape(nd.ones((2, 3, 4)), shape=(-3, 0)).shape
        (6, 4)
    """
    if isinstance(shape, (tuple, list)) and not shape:
        target = as_ints("reshape", "target_shape", target_shape)
        if not target:
            raise MXNetError("reshape: shape must not be empty")
        shape = _old_target(data, target, keep_highest)
    result = _reshaped("reshape", data.shape, shape, reverse)
    if prod(result) != data.size:
        raise MXNetError(f"reshape: cannot reshape an array of shape {data.shape} to {shape}, which is {tuple(result)}")
    return op.reshape(data, shape=result)


def _reshape_method(self: NDArray, *shape: Any, **kwargs: Any) -> NDArray:
    """A view of the array in another shape, given as one tuple or several ints; codes as in `mx.nd.reshape`.

    reverse=True matches sizes from the end. ValueError, or MXNetError for a larger shape, if sizes differ.
    """
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = shape[0]
    elif not shape:
        shape = kwargs.get("shape")
        assert shape, "Shape must be provided."
    for k in kwargs:
        if k not in ("shape", "reverse"):
            raise TypeError(f"reshape: unknown keyword {k!r}; there are 'shape' and 'reverse'")
    size = self.size
    codes = as_ints("reshape", "shape", shape, booleans=True)  # MXNet gets these numbers as integers, so True is 1
    result = codes
    if min(codes, default=0) <= 0 or prod(codes) != size:
        result = _reshaped("reshape", self.shape, codes, kwargs.get("reverse", False))
        if prod(result) != size:
            error = MXNetError if prod(result) > size else ValueError
            raise error(f"Cannot reshape array of size {size} into shape {tuple(codes)}")
    return self._with_context(op.reshape(self, shape=result))


_reshape_method.__name__ = _reshape_method.__qualname__ = "reshape"
NDArray.reshape = _reshape_method


@operator("lhs, rhs", method=True)
def reshape_like(lhs, rhs, lhs_begin=None, lhs_end=None, rhs_begin=None, rhs_end=None):
    """`lhs` in the shape of `rhs`; with begin and end, only these axes of both.

    MXNetError if the number of elements differs.

    Args:
        rhs: an array whose shape is taken.

    Example:
        >>> nd.reshape_like(nd.ones((6,)), nd.zeros((2, 3))).shape
        (2, 3)
    """

    def cut(shape: tuple, begin: int | None, end: int | None) -> tuple[int, int]:
        places = (0 if begin is None else begin, len(shape) if end is None else end)
        first, last = (p + len(shape) if p < 0 else p for p in places)
        return first, last

    a, b = cut(lhs.shape, lhs_begin, lhs_end)
    c, d = cut(rhs.shape, rhs_begin, rhs_end)
    shape = lhs.shape[:a] + rhs.shape[c:d] + lhs.shape[b:]
    if prod(shape) != lhs.size:
        raise MXNetError(f"reshape_like: cannot reshape lhs of shape {lhs.shape} to shape {shape}: sizes differ")
    return op.reshape(lhs, shape=shape)


@operator("data", aliases=("Flatten",), method=True)
def flatten(data):
    """A matrix whose rows are the first axis: (n, a, b) becomes (n, a * b), and (n,) becomes (n, 1).

    Args:
        data: at least one axis.

    Example:
        >>> nd.flatten(nd.ones((2, 3, 4))).shape
        (2, 12)
    """
    n = data.shape[0]
    return op.reshape(data, shape=(n, data.size // n if n else prod(data.shape[1:])))


@operator("data", method=True)
def transpose(data, axes=()):
    """The axes in the order `axes`, or reversed. MXNetError if `axes` is not a permutation of all axes.

    Args:
        axes: the new order of the axes; () reverses it.

    Example:
        >>> nd.transpose(nd.ones((2, 3, 4)), axes=(1, 0, 2)).shape
        (3, 2, 4)
    """
    ndim = data.tensor.dim()
    if axes is None or (isinstance(axes, (tuple, list)) and not axes):
        return op.transpose(data, axes=None)
    order = axes_in("transpose", axes, ndim, "axes")
    if len(order) != ndim:
        raise MXNetError(f"transpose: axes must name all {ndim} axes of shape {data.shape}, got {tuple(axes)}")
    return op.transpose(data, axes=order)


@operator("data", aliases=("SwapAxis",), method=True)
def swapaxes(data, dim1=0, dim2=0):
    """The array with two axes exchanged.

    Example:
        >>> nd.swapaxes(nd.ones((2, 3, 4)), dim1=0, dim2=2).shape
        (4, 3, 2)
    """
    order = list(range(data.tensor.dim()))
    a, b = (axis_in("swapaxes", d, len(order), f"dim{i}") for i, d in ((1, dim1), (2, dim2)))
    order[a], order[b] = b, a
    return op.transpose(data, axes=order)


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Moves axes to other places; the other axes keep their order.

    Args:
        tensor: any shape, any dtype.
        source: the axes, an int or a sequence of ints; negative ones count from the end.
        destination: the place of each of them in the result, as many.

    Returns:
        NDArray of the dtype of `tensor`.

    Raises:
        ValueError: there is no such axis, an axis is named twice, or the numbers of axes differ.
        mxnet.base.MXNetError: an axis is no integer.

    Example:
        >>> nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)

    Source: `mxnet.nd.moveaxis` of MXNet 1.9.1.
    """
    ndim = tensor.ndim

    def places(name: str, value: Any) -> list[int]:
        axes = [a + ndim if a < 0 else a for a in as_ints("moveaxis", name, value)]
        for a in axes:
            if not 0 <= a < ndim:
                raise ValueError(f"{name} should verify 0 <= {name} < tensor.ndim ({ndim}). Got {a}")
        if len(set(axes)) < len(axes):
            raise ValueError(f"moveaxis: repeated axis in {name}: {value}")
        return axes

    origins, targets = places("Source", source), places("Destination", destination)
    if len(origins) != len(targets):
        raise ValueError(
            f"`source` and `destination` arguments must have the same number of elements, got {source}, {destination}"
        )
    order = [a for a in range(ndim) if a not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return transpose(tensor, axes=tuple(order))


@operator("data", method=True)
def expand_dims(data, axis):
    """A new axis of length 1 at place `axis`, which may be from -ndim - 1 to ndim.

    Args:
        axis: where the new axis stands; negative ones count from the end.

    Example:
        >>> nd.expand_dims(nd.ones((2, 3)), axis=1).shape
        (2, 1, 3)
    """
    ndim = data.tensor.dim()
    if not -ndim - 1 <= axis <= ndim:
        raise MXNetError(f"expand_dims: axis must be in the range [{-ndim - 1}, {ndim}], got {axis}")
    return op.expand_dims(data, axis=axis)


@operator("data", method=True)
def squeeze(data, axis=None):
    """The array without its axes of length 1, or those named. MXNetError if one of them is longer.

    Args:
        axis: one axis or several of length 1; None for all of them.

    Example:
        >>> nd.squeeze(nd.ones((1, 3, 1))).shape
        (3,)
    """
    axes = None if axis is None else axes_in("squeeze", axis, data.tensor.dim())
    return vector(op.squeeze(data, axis=axes))


@operator("data", method=True)
def tile(data, reps):
    """The whole array repeated reps[i] times along axis i; the shorter of shape and `reps` gets ones in front.

    Example:
        >>> nd.tile(nd.array([1.0, 2.0]), reps=(2, 2)).asnumpy()
        array([[1., 2., 1., 2.],
               [1., 2., 1., 2.]], dtype=float32)
    """
    reps = as_ints("tile", "reps", reps)
    if min(reps, default=1) < 1:
        raise MXNetError(f"tile: reps must be positive, got {tuple(reps)}")
    return op.tile(data, reps=reps) if reps else op.identity(data)


@operator("data", method=True)
def repeat(data, repeats, axis=None):
    """Each element repeated along `axis`, or in the flattened array.

    Args:
        axis: the axis; None for the array as one row.

    Example:
        >>> nd.repeat(nd.array([1.0, 2.0]), repeats=2).asnumpy()
        array([1., 1., 2., 2.], dtype=float32)
    """
    if axis is not None:
        axis = axis_in("repeat", axis, data.tensor.dim())
    if repeats < 0:
        raise MXNetError(f"repeat: repeats must not be negative, got {repeats}")
    return op.repeat(data, repeats=[repeats], axis=axis)


@operator("data", aliases=("reverse",), method=True)
def flip(data, axis):
    """The array with the order of its elements along `axis` (an int or a tuple) reversed.

    Args:
        axis: one axis or several.

    Example:
        >>> nd.flip(nd.array([[1.0, 2.0, 3.0]]), axis=1).asnumpy()
        array([[3., 2., 1.]], dtype=float32)
    """
    return op.flip(data, axis=axes_in("flip", axis, data.tensor.dim()))


@operator("data", aliases=("Pad",), method=True)
def pad(data, mode="constant", pad_width=(), constant_value=0.0):
    """The array with pad_width[2 * i] elements before axis i and pad_width[2 * i + 1] after it.

    mode: "constant" (`constant_value`), "edge" (the nearest element) or "reflect" (mirrored at the nearest element,
    for widths below the size). MXNetError for widths that do not fit.

    Args:
        data: floating point, four or five axes.
        mode: "constant", "edge" or "reflect".

    Example:
        >>> x, width = nd.ones((1, 1, 1, 2)), (0, 0, 0, 0, 0, 0, 1, 1)
        >>> nd.pad(x, mode="constant", pad_width=width, constant_value=5.0).asnumpy()
        array([[[[5., 1., 1., 5.]]]], dtype=float32)
    """
    choice("pad", "mode", mode)
    width = as_ints("pad", "pad_width", pad_width)
    if len(width) != 2 * data.tensor.dim() or min(width) < 0:
        raise MXNetError(f"pad: pad_width must hold two widths for each axis of shape {data.shape}, got {pad_width}")
    if mode == "constant":
        return op.pad(data, pad_width=width, value=constant_value)
    before, after = width[::2], width[1::2]
    if mode == "edge":
        return op.edges(data, before=before, after=after, mode="repeat")
    if any(w >= n > 0 for w, n in zip(map(max, before, after), data.shape, strict=True)):
        raise MXNetError(f"pad: mode 'reflect' needs widths below the shape {data.shape}, got {pad_width}")
    return op.edges(data, before=before, after=after, mode="reflect")


@operator("data", method=True)
def diag(data, k=0, axis1=0, axis2=1):
    """A matrix with `data` (n,) on its k-th diagonal; or the k-th diagonal of the matrices in two axes, as last axis.

    MXNetError if there is no such diagonal.

    Args:
        k: the diagonal: above the main one if positive, below it if negative.

    Example:
        >>> nd.diag(nd.array([[1.0, 2.0], [3.0, 4.0]])).asnumpy()
        array([1., 4.], dtype=float32)
        >>> nd.diag(nd.array([1.0, 2.0])).asnumpy()
        array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    ndim = data.tensor.dim()
    if ndim == 1:
        n = data.shape[0] + abs(k)
        return op.diagonal_grad(data, shape=(n, n), offset=k)
    a, b = axis_in("diag", axis1, ndim, "axis1"), axis_in("diag", axis2, ndim, "axis2")
    if a == b:
        raise MXNetError(f"diag: axis1 and axis2 must differ, got {axis1} and {axis2}")
    if not -data.shape[a] <= k <= data.shape[b]:
        raise MXNetError(f"diag: diagonal k={k} does not exist in the axes {a} and {b} of shape {data.shape}")
    return op.diagonal(data, offset=k, axis1=a, axis2=b)


@operator("data", method=True)
def depth_to_space(data, block_size):
    """Channels moved into blocks of pixels: (n, c * b * b, h, w) becomes (n, c, h * b, w * b).

    Args:
        data: shape (batch, channels, height, width).

    Example:
        >>> nd.depth_to_space(nd.ones((1, 8, 2, 3)), block_size=2).shape
        (1, 2, 4, 6)
    """
    require_ndim("depth_to_space", "data", data, 4)
    n, c, h, w = data.shape
    b = block_size
    if b < 1 or 0 in data.shape or c % (b * b):
        raise MXNetError(f"depth_to_space: axis 1 must be a multiple of block_size ** 2 = {b * b} and no axis of "
                         f"length 0, got {data.shape}")  # fmt: skip
    blocks = op.transpose(op.reshape(data, shape=(n, b, b, c // (b * b), h, w)), axes=(0, 3, 4, 1, 5, 2))
    return op.reshape(blocks, shape=(n, c // (b * b), h * b, w * b))


@operator("data", method=True)
def space_to_depth(data, block_size):
    """Blocks of pixels moved into channels: (n, c, h * b, w * b) becomes (n, c * b * b, h, w).

    Args:
        data: shape (batch, channels, height, width).

    Example:
        >>> nd.space_to_depth(nd.ones((1, 2, 4, 6)), block_size=2).shape
        (1, 8, 2, 3)
    """
    require_ndim("space_to_depth", "data", data, 4)
    n, c, h, w = data.shape
    b = block_size
    if b < 1 or 0 in data.shape or h % b or w % b:
        raise MXNetError(f"space_to_depth: axes 2 and 3 must be multiples of block_size = {b} and no axis of length 0, "
                         f"got {data.shape}")  # fmt: skip
    blocks = op.transpose(op.reshape(data, shape=(n, c, h // b, b, w // b, b)), axes=(0, 3, 5, 1, 2, 4))
    return op.reshape(blocks, shape=(n, c * b * b, h // b, w // b))


def _broadcast(name: str, data: NDArray, shape: list[int]) -> NDArray:
    more = len(shape) - len(data.shape)
    if more < 0 or any(n != m and n != 1 for n, m in zip(data.shape, shape[more:], strict=True)):
        raise MXNetError(f"{name}: an array of shape {data.shape} cannot be broadcast to {tuple(shape)}")
    return op.broadcast_to(data, shape=shape)


@operator("data", method=True)
def broadcast_to(data, shape=()):
    """Axes of length 1 stretched to `shape`, where 0 keeps a size. MXNetError if shapes do not fit.

    Args:
        shape: the shape of the result; 0 keeps a length.

    Example:
        >>> nd.broadcast_to(nd.array([[1.0], [2.0]]), shape=(2, 3)).asnumpy()
        array([[1., 1., 1.],
               [2., 2., 2.]], dtype=float32)
    """
    shape = as_ints("broadcast_to", "shape", shape)
    if len(shape) != data.tensor.dim():
        raise MXNetError(f"broadcast_to: an array of shape {data.shape} cannot be broadcast to {tuple(shape)}")
    return _broadcast("broadcast_to", data, [m or n for m, n in zip(shape, data.shape, strict=True)])


@operator("lhs, rhs", method=True)
def broadcast_like(lhs, rhs, lhs_axes=None, rhs_axes=None):
    """Axes of length 1 of `lhs` stretched to the sizes of `rhs`: all axes, or `lhs_axes` to those of `rhs_axes`.

    Args:
        rhs: an array whose lengths are taken.

    Example:
        >>> nd.broadcast_like(nd.ones((1, 2)), nd.zeros((3, 2))).shape
        (3, 2)
    """
    if (lhs_axes is None) != (rhs_axes is None):
        raise MXNetError("broadcast_like: lhs_axes and rhs_axes must be given together")
    if lhs_axes is None:
        return _broadcast("broadcast_like", lhs, list(rhs.shape))
    to = axes_in("broadcast_like", lhs_axes, lhs.tensor.dim(), "lhs_axes")
    by = axes_in("broadcast_like", rhs_axes, rhs.tensor.dim(), "rhs_axes")
    if len(to) != len(by) or not to:
        raise MXNetError(f"broadcast_like: lhs_axes {lhs_axes} and rhs_axes {rhs_axes} must be equally many")
    shape = list(lhs.shape)
    for a, b in zip(to, by, strict=True):
        shape[a] = rhs.shape[b]
    return _broadcast("broadcast_like", lhs, shape)


@operator("data", aliases=("broadcast_axes",))
def broadcast_axis(data, axis=(), size=()):
    """The axes `axis`, of length 1, stretched to `size`; both an int or tuples of one length.

    Args:
        axis: one axis or several of length 1.
        size: the new length of each of them.

    Example:
        >>> nd.broadcast_axis(nd.array([[1.0, 2.0]]), axis=0, size=2).asnumpy()
        array([[1., 2.],
               [1., 2.]], dtype=float32)
    """
    axes = axes_in("broadcast_axis", axis, data.tensor.dim())
    sizes = as_ints("broadcast_axis", "size", size)
    if len(axes) != len(sizes):
        raise MXNetError(f"broadcast_axis: axis {axis} and size {size} must be equally many")
    shape = list(data.shape)
    for a, n in zip(axes, sizes, strict=True):
        if shape[a] != 1:
            raise MXNetError(f"broadcast_axis: axis {a} must have size 1 to be broadcast, got the shape {data.shape}")
        shape[a] = n
    return _broadcast("broadcast_axis", data, shape)


# Methods whose arguments differ from those of the operators. `inplace`: the result is a view instead of a copy.
def _expand_dims(self: NDArray, axis: int, inplace: bool = False, **kwargs: Any) -> NDArray:
    y = expand_dims(self, axis, **kwargs)
    return self.reshape(y.shape) if inplace else y


def _flatten(self: NDArray, inplace: bool = False) -> NDArray:
    y = flatten(self)
    return self.reshape(y.shape) if inplace else y


def _squeeze(self: NDArray, axis: Any = None, inplace: bool = False, **kwargs: Any) -> NDArray:
    y = squeeze(self, axis, **kwargs)
    return self.reshape(y.shape) if inplace else y


def _broadcast_like(self: NDArray, other: NDArray, **kwargs: Any) -> NDArray:
    return broadcast_like(self, other, **kwargs)


for _method, _of in ((_expand_dims, expand_dims), (_flatten, flatten), (_squeeze, squeeze),
                     (_broadcast_like, broadcast_like)):  # fmt: skip
    _method.__name__, _method.__doc__ = _of.__name__, _of.__doc__
    setattr(NDArray, _of.__name__, _method)
NDArray.broadcast_axes = broadcast_axis
__all__ = public_names(globals(), "moveaxis")
