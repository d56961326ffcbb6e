"""Operators of `mx.nd.contrib` on arrays of any kind, which `contrib` exports."""

from __future__ import annotations

import math

import torch

from ..base import MXNetError
from . import _stored
from ._arguments import as_index, axes_in, axis_in, constant, require_shape, within, write_at
from ._operator import op, operator
from .ndarray import NDArray


@operator("data", name="_contrib_arange_like")
def arange_like(data, start=0.0, step=1.0, repeat=1, ctx="", axis=None):
    """start, start + step, ... in the shape of `data`, or in the length of one of its axes; each `repeat` times.

    It has data's dtype and device, and no gradient.

    Args:
        axis: the axis whose length is the number of numbers; None is all elements.
        start: the first number.
        step: the distance of the numbers.

    Example:
        >>> nd.contrib.arange_like(nd.ones((2, 3)), axis=1).asnumpy()
        array([0., 1., 2.], dtype=float32)
    """
    t = data.tensor
    shape = tuple(t.shape) if axis is None else (t.shape[axis_in("arange_like", axis, t.dim())],)
    numbers = torch.arange(math.prod(shape), device=t.device).div(repeat, rounding_mode="floor").double()
    return constant((start + step * numbers).reshape(shape).to(t.dtype), data)


@operator("data", name="_contrib_index_array")
def index_array(data, axes=None):
    """The position of each element, in all axes or in `axes`: (*shape, axes) of int64.

    Args:
        axes: the axes whose indices are given; None is all.

    Returns:
        int64, the shape of `data` and a last axis for the indices.

    Example:
        >>> nd.contrib.index_array(nd.ones((2, 2))).asnumpy().tolist()
        [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    """
    t = data.tensor
    if not t.dim():
        return constant(torch.zeros((0,), dtype=torch.int64, device=t.device), data)
    chosen = range(t.dim()) if axes is None else axes_in("index_array", axes, t.dim(), "axes")
    grids = torch.meshgrid(*[torch.arange(n, device=t.device) for n in t.shape], indexing="ij")
    return constant(torch.stack([grids[a] for a in chosen], -1), data)


@operator("old_tensor, index_vector, new_tensor", name="_contrib_index_copy")
def index_copy(old_tensor, index_vector, new_tensor):
    """A copy of `old_tensor` whose rows `index_vector` are those of `new_tensor`.

    Example:
        >>> place = nd.array([1], dtype="int64")
        >>> nd.contrib.index_copy(nd.zeros((2, 2)), place, nd.array([[5.0, 6.0]])).asnumpy()
        array([[0., 0.],
               [5., 6.]], dtype=float32)
    """
    rows = as_index(index_vector)
    require_shape("index_copy", "index_vector", index_vector.shape, new_tensor.shape[:1])
    require_shape("index_copy", "new_tensor", new_tensor.shape, (rows.numel(), *old_tensor.shape[1:]))
    return write_at(old_tensor, within("index_copy", rows[None], old_tensor.shape), new_tensor)


@operator("data, index", name="_contrib_boolean_mask")
def boolean_mask(data, index, axis=0):
    """The rows of `data` at which `index` is not 0. The length of the result depends on values.

    Args:
        data: at least one axis.
        index: what is kept: not 0; shape (data.shape[axis],).

    Example:
        >>> nd.contrib.boolean_mask(nd.array([1.0, 2.0, 3.0]), nd.array([1, 0, 1])).asnumpy()
        array([1., 3.], dtype=float32)
    """
    if axis != 0:
        raise MXNetError(f"boolean_mask: axis must be 0, got {axis}")
    require_shape("boolean_mask", "index", index.shape, data.shape[:1])
    return op.select_along(data, NDArray(index.tensor.nonzero().reshape(-1)), axis=0)


@operator("a, b", name="_contrib_allclose")
def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True):
    """1 if |a - b| <= atol + rtol * |b| for all elements, else 0; uint8 of shape ().

    Returns:
        1 or 0, shape (1,).

    Example:
        >>> nd.contrib.allclose(nd.array([1.0]), nd.array([1.0 + 1e-7])).asnumpy()
        array(1, dtype=uint8)
    """
    require_shape("allclose", "b", b.shape, a.shape)
    same = torch.allclose(a.tensor, b.tensor, rtol, atol, equal_nan)
    return NDArray(torch.tensor(same, dtype=torch.uint8, device=a.tensor.device))


@operator("data", name="_contrib_quadratic", stored=lambda y, x, a, b, c: y if c else _stored.kept_rows(y, x))
def quadratic(data, a=0.0, b=0.0, c=0.0):
    """a * data ** 2 + b * data + c

    Args:
        a: the factor of the square.
        b: the factor of the element.

    Example:
        >>> nd.contrib.quadratic(nd.array([2.0]), a=1.0, b=2.0, c=3.0).asnumpy()
        array([11.], dtype=float32)
    """
    return op.add_scalar(op.add(op.mul_scalar(op.square(data), value=a), op.mul_scalar(data, value=b)), value=c)


@operator("data", name="_contrib_gradientmultiplier")
def gradientmultiplier(data, scalar=1.0, is_int=True):
    """The values of `data`; their gradient is multiplied by `scalar`.

    Args:
        scalar: the factor of the gradient.

    Example:
        >>> x = nd.array([1.0])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = nd.contrib.gradientmultiplier(x, scalar=-2.0)
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([-2.], dtype=float32)
    """
    return op.straight_through(op.stop_gradient(data), op.mul_scalar(data, value=scalar))


__all__ = ["allclose", "arange_like", "boolean_mask", "gradientmultiplier", "index_array", "index_copy", "quadratic"]
