"""Functions of `mx.np` along axes: sums, means, extremes, sorting, differences and others."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp
import torch

from compatgrad import _C
from compatgrad.core import notes

from .._docs import sharing
from ..base import MXNetError
from ..ndarray._operator import op, refuse
from ..ndarray.ndarray import torch_dtype
from ._arguments import _axes, _axis, _publisher
from ._array import constant, finish, floats, ndarray, pair
from ._docs import documented
from ._functions import _array

if TYPE_CHECKING:
    from .._typing import Dtype

__all__: list[str] = []
_public = _publisher(globals())


_OVER_AXES = """
    Args:
        axis: the axis, or a sequence of axes; None is all of them.

    Returns:
        ndarray.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or `out` has another shape than the result.
    """


_AXES = "axis: the axis, or a sequence of axes; None is all of them."
_PROD = f"""The product over axes.

    Args:
        {_AXES}
        dtype: the dtype of the result; None is that of `a`, and int64 for booleans.
        **kwargs: `name`, without effect.

    Returns:
        ndarray.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or `out` has another shape than the result.

    Example:
        >>> mx.np.prod(mx.np.array([[1, 2], [3, 4]]), axis=0)
        array([3., 8.])
    """


def _reduction(name: str, body: Callable[..., Any], float_result: bool = False) -> Callable[..., Any]:
    def call(
        a: ndarray, axis: int | Sequence[int] | None = None, dtype: Dtype | None = None, out: ndarray | None = None,
        keepdims: bool = False, **kwargs: Any,
    ) -> ndarray:  # fmt: skip
        refuse(name, kwargs, ("axis", "dtype", "keepdims", "name"))
        x = ndarray._around(_array(name, a))
        axes = _axes(name, axis, x.ndim)
        wanted = None if dtype is None else torch_dtype(dtype, f"{name}: dtype")
        if float_result and (wanted is None or not wanted.is_floating_point):
            x = floats(x)
        elif wanted is not None:
            x = _in_wider(x, wanted)
        elif x.tensor.dtype == torch.bool:
            x = op.cast(x, dtype=torch.int64)
        wanted = wanted or x.tensor.dtype  # integers keep their type, as in the original
        try:
            y = body(x, axis=axes, keepdims=bool(keepdims))
        except (IndexError, ValueError, RuntimeError) as e:
            raise MXNetError(f"{name}: {e} (a has shape {x.shape}, axis is {axis})") from None
        return finish(y if y.tensor.dtype == wanted else op.cast(y, dtype=wanted), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _PROD
    return documented(call)


def _in_wider(x: Any, dtype: torch.dtype) -> Any:
    """The array in the dtype of its sum, the wider one of its own dtype and the result's."""
    wide = torch.promote_types(x.tensor.dtype, dtype)
    return x if x.tensor.dtype == wide else op.cast(x, dtype=wide)


_sum = _reduction("sum", op.sum)


@documented
@sharing(_OVER_AXES)
def sum(
    a: ndarray, axis: int | Sequence[int] | None = None, dtype: Dtype | None = None, keepdims: bool = False,
    initial: float | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """The sum over axes.

    Args:
        dtype: the dtype of the result; None is that of `a`, and int64 for booleans.
        initial: a number that is added to the sums; None is 0.

    Example:
        >>> mx.np.sum(mx.np.array([[1, 2], [3, 4]]), axis=0)
        array([4., 6.])
    """
    if initial is None:
        return _sum(a, axis, dtype, out, keepdims)
    return finish(pair("add", _sum(a, axis, dtype, None, keepdims), initial), out)


_public(sum)
_public(_reduction("prod", op.prod), "product")
_mean = _reduction("mean", op.mean, float_result=True)


@documented
@sharing(_OVER_AXES)
def mean(
    a: ndarray,
    axis: int | Sequence[int] | None = None,
    dtype: Dtype | None = None,
    out: ndarray | None = None,
    keepdims: bool = False,
) -> ndarray:
    """The mean over axes.

    Args:
        dtype: the dtype of the result; None is that of `a`, and float32 for integers. With an integer dtype, the sum in
            that dtype is divided by an integer division.

    Example:
        >>> mx.np.mean(mx.np.array([[1, 2], [3, 4]]), axis=0)
        array([2., 3.])
    """
    if dtype is None or torch_dtype(dtype, "mean: dtype").is_floating_point:
        return _mean(a, axis, dtype, out, keepdims)
    total = _sum(a, axis, dtype, None, keepdims).tensor
    count = builtins.max(a.size // builtins.max(total.numel(), 1), 1)
    y = op.cast(_mean(a, axis, None, None, keepdims), dtype=total.dtype)  # the gradient is that of the exact mean
    y.tensor.copy_(total.div(count, rounding_mode="trunc"))
    return finish(y, out)


_public(mean)


_EXTREME = f"""The {{which}} element over axes.

    Args:
        {_AXES}

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, `a` has no elements, or `out` has another shape than the
            result.

    Example:
        >>> mx.np.{{name}}(mx.np.array([[1, 2], [2, 1]])) == {{value}}
        array(True)
    """


def _extreme(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        a: ndarray, axis: int | Sequence[int] | None = None, keepdims: bool = False, out: ndarray | None = None
    ) -> ndarray:
        x = ndarray._around(_array(name, a))
        if not x.size:
            raise MXNetError(f"{name}: a has no elements (shape {x.shape})")
        return finish(body(x, axis=_axes(name, axis, x.ndim), keepdims=bool(keepdims)), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _EXTREME.format(name=name, value={"max": 2, "min": 1}[name],
                                   which={"max": "largest", "min": "smallest"}[name])  # fmt: skip
    return documented(call)


_public(_extreme("max", op.max), "amax")
_public(_extreme("min", op.min), "amin")


@documented
@sharing(_OVER_AXES)
def var(
    a: ndarray, axis: int | Sequence[int] | None = None, dtype: Dtype | None = None, out: ndarray | None = None,
    ddof: int = 0, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The variance over axes: the mean of the squared distances from the mean.

    Args:
        dtype: the dtype of the result; None is that of `a`, and float32 for integers.
        ddof: the sum of squares is divided by the number of elements minus `ddof`.

    Example:
        >>> mx.np.var(mx.np.array([1, 2, 3, 4]))
        array(1.25)
    """
    x = floats(ndarray._around(_array("var", a)))
    x = x if dtype is None else op.cast(x, dtype=torch_dtype(dtype))
    return finish(op.var(x, axis=_axes("var", axis, x.ndim), ddof=float(ddof), keepdims=bool(keepdims)), out)


@documented
@sharing(_OVER_AXES)
def std(
    a: ndarray, axis: int | Sequence[int] | None = None, dtype: Dtype | None = None, out: ndarray | None = None,
    ddof: int = 0, keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The standard deviation over axes: the square root of the variance.

    Args:
        dtype: the dtype of the result; None is that of `a`, and float32 for integers.
        ddof: the sum of squares is divided by the number of elements minus `ddof`.

    Example:
        >>> mx.np.std(mx.np.array([1.0, 3.0]))
        array(1.)
    """
    return finish(op.sqrt(var(a, axis, dtype, None, ddof, keepdims)), out)


@documented
def average(
    a: ndarray,
    axis: int | Sequence[int] | None = None,
    weights: ndarray | None = None,
    returned: bool = False,
    out: ndarray | None = None,
) -> ndarray | tuple[ndarray, ndarray]:
    """The mean over axes, in which elements may have weights.

    Args:
        axis: the axis, or a sequence of axes; None is all of them.
        weights: ndarray of the shape of `a`, or, with one axis, a number for each position along it; None is all 1.
        returned: whether the sum of the weights is a result too.

    Returns:
        ndarray, floating-point; with `returned` a tuple of it and of the sums of the weights.

    Raises:
        AssertionError: `a` or `weights` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or `weights` does not fit.

    Example:
        >>> mx.np.average(mx.np.array([1.0, 3.0]), weights=mx.np.array([3.0, 1.0]))
        array(1.5)
    """
    if weights is None:
        y = op.mean(floats(_array("average", a)), axis=_axes("average", axis, a.ndim))
        total = onp.prod(a.shape) / builtins.max(onp.prod(y.shape), 1)
        return (finish(y, out), y * 0 + float(total)) if returned else finish(y, out)
    axes = _axes("average", axis, _array("average", a).ndim)
    w = _array("average", weights, "weights")
    if w.shape != a.shape:
        if not isinstance(axis, int):
            raise MXNetError(f"average: weights of shape {w.shape} for an array of shape {a.shape} need one axis")
        if w.shape != (a.shape[axis],):
            raise MXNetError(f"average: weights of shape {w.shape} do not fit axis {axis} of shape {a.shape}")
        w = op.reshape(w, shape=tuple(n if i == axis % a.ndim else 1 for i, n in enumerate(a.shape)))
        w = op.broadcast_to(w, shape=a.shape)
    total = op.sum(w, axis=axes)
    y = op.sum(pair("mul", a, w), axis=axes) / total
    return (finish(y, out), total) if returned else finish(y, out)


for _function in (var, std, average):
    _public(_function)


_TRUTH = f"""Whether {{which}} from 0, over axes.

    Args:
        {_AXES}

    Returns:
        ndarray of booleans, without a gradient.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: an axis is out of bounds, or `out` has another shape than the result.

    Example:
        >>> mx.np.{{name}}(mx.np.array([[0, 0], [1, 1]]), axis=1)
        array([False,  True])
    """


def _truth(name: str) -> Callable[..., Any]:
    def call(
        a: ndarray, axis: int | Sequence[int] | None = None, keepdims: bool = False, out: ndarray | None = None
    ) -> ndarray:
        t = _array(name, a).tensor != 0
        _axes(name, axis, t.dim())
        axes = range(t.dim()) if axis is None else [axis] if isinstance(axis, int) else axis
        for i in sorted((n % builtins.max(t.dim(), 1) for n in axes), reverse=True):
            t = getattr(t, name)(dim=i, keepdim=bool(keepdims))
        return finish(constant(t), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _TRUTH.format(name=name, which={"any": "an element differs", "all": "all elements differ"}[name])
    return documented(call)


_public(_truth("any"), "sometrue")
_public(_truth("all"), "alltrue")


_POSITION = """The position of the {which} element along an axis; of several the first one.

    Args:
        axis: the axis; None counts through all elements.

    Returns:
        ndarray, int64, without a gradient.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: the axis is out of bounds, there are no elements along it, or `out` has another shape
            than the result.

    Example:
        >>> mx.np.{name}(mx.np.array([1, 3, 2]))
        array({at}, dtype=int64)
    """


def _position(name: str) -> Callable[..., Any]:
    def call(a: ndarray, axis: int | None = None, out: ndarray | None = None) -> ndarray:
        t = _array(name, a).tensor.detach()
        t = t.to(torch.uint8) if t.dtype == torch.bool else t
        if axis is not None and not -builtins.max(t.dim(), 1) <= axis < builtins.max(t.dim(), 1):
            raise MXNetError(f"{name}: axis {axis} is out of bounds for an array of {t.dim()} dimensions")
        if not (t.numel() if axis is None or not t.dim() else t.shape[axis]):
            raise MXNetError(f"{name}: a has no elements (shape {tuple(t.shape)}, axis {axis})")
        return finish(constant(getattr(torch, name)(t, dim=axis)), out)

    call.__name__ = call.__qualname__ = name
    which, at = {"argmax": ("largest", 1), "argmin": ("smallest", 0)}[name]
    call.__doc__ = _POSITION.format(name=name, which=which, at=at)
    return documented(call)


_public(_position("argmax"))
_public(_position("argmin"))


@documented
def argsort(a: ndarray, axis: int | None = -1, kind: Any = None, order: Any = None) -> ndarray:
    """The positions of elements in rising order along an axis; equal elements keep their order.

    Args:
        axis: the axis; None is the flat array.
        kind: without effect.
        order: without effect.

    Returns:
        ndarray, int64, without a gradient.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: the axis is out of bounds.

    Example:
        >>> mx.np.argsort(mx.np.array([3, 1, 2]))
        array([1, 2, 0], dtype=int64)
    """
    t = _array("argsort", a).tensor.detach()
    _axes("argsort", axis, t.dim())
    return constant(
        torch.argsort(t.flatten(), stable=True) if axis is None else torch.argsort(t, dim=axis, stable=True)
    )


@documented
def sort(a: ndarray, axis: int | None = -1, kind: Any = None, order: Any = None) -> ndarray:
    """A copy whose elements rise along an axis.

    Args:
        axis: the axis; None is the flat array.
        kind: without effect.
        order: without effect.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: the axis is out of bounds.

    Example:
        >>> mx.np.sort(mx.np.array([3, 1, 2]))
        array([1., 2., 3.])
    """
    x = ndarray._around(_array("sort", a))
    _axes("sort", axis, x.ndim)
    return op.sort(op.reshape(x, shape=(-1,)), axis=0) if axis is None else op.sort(x, axis=axis)


@documented
def cumsum(a: ndarray, axis: int | None = None, dtype: Dtype | None = None, out: ndarray | None = None) -> ndarray:
    """The sums of the elements up to each one, along an axis.

    Args:
        axis: the axis; None is the flat array.
        dtype: the dtype of the result; None is that of `a`, and int64 for booleans.

    Returns:
        ndarray.

    Raises:
        AssertionError: `a` is no array.
        mxnet.base.MXNetError: the axis is out of bounds, or `out` has another shape than the result.

    Example:
        >>> mx.np.cumsum(mx.np.array([1, 2, 3]))
        array([1., 3., 6.])
    """
    x = ndarray._around(_array("cumsum", a))
    _axes("cumsum", axis, x.ndim)
    own = torch.int64 if x.tensor.dtype == torch.bool else x.tensor.dtype
    wanted = own if dtype is None else torch_dtype(dtype, "cumsum: dtype")
    if not wanted.is_floating_point and x.tensor.is_floating_point():
        x = op.cast(x, dtype=wanted)  # truncates each element, not each sum
    y = op.cumsum(_in_wider(x, wanted), axis=axis)
    return finish(y if y.tensor.dtype == wanted else op.cast(y, dtype=wanted), out)


@documented
def unique(
    ar: ndarray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> ndarray | tuple[ndarray, ...]:
    """The different elements, in rising order.

    Args:
        ar: ndarray of any shape and dtype.
        return_index: whether the position of the first of each of them is a result too.
        return_inverse: whether the position in the result of each element of `ar` is a result too.
        return_counts: whether the number of each of them is a result too.
        axis: compares parts along an axis; None compares elements.

    Returns:
        ndarray; with further results a tuple, whose others are int64. There is no gradient.

    Raises:
        AssertionError: `ar` is no array.
        numpy.exceptions.AxisError: the axis is out of bounds.

    Example:
        >>> mx.np.unique(mx.np.array([2, 1, 2]), return_counts=True)
        (array([1., 2.]), array([1, 2], dtype=int64))
    """
    if notes.listener is not None:
        notes.listener("numpy", "np.unique")
    result = onp.unique(_array("unique", ar, "ar").asnumpy(), return_index, return_inverse, return_counts, axis)
    several = isinstance(result, tuple)
    device = ar.tensor.device
    parts = [
        constant(torch.from_numpy(onp.ascontiguousarray(r)).to(device)) for r in (result if several else (result,))
    ]
    return tuple(parts) if several else parts[0]


@documented
def nonzero(a: ndarray) -> tuple[ndarray, ...]:
    """The positions of elements that differ from 0.

    Returns:
        A tuple of int64 ndarrays, one for each axis.

    Example:
        >>> mx.np.nonzero(mx.np.array([[0, 1], [2, 0]]))
        (array([0, 1], dtype=int64), array([1, 0], dtype=int64))
    """
    return tuple(constant(p) for p in _array("nonzero", a).tensor.nonzero(as_tuple=True))


@documented
def diff(a: ndarray, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> ndarray:
    """The differences of neighbours along an axis.

    Args:
        n: how often they are taken, 0 or more.
        prepend: None; others are not supported.
        append: None; others are not supported.

    Raises:
        AssertionError: `a` is no array.
        NotImplementedError: `prepend` or `append` is given.
        mxnet.base.MXNetError: the axis is out of bounds, or `n` is negative.

    Example:
        >>> mx.np.diff(mx.np.array([1, 4, 9]))
        array([3., 5.])
    """
    if prepend is not None or append is not None:
        raise NotImplementedError("diff: prepend and append are not supported")
    x = ndarray._around(_array("diff", a))
    axis = _axis("diff", axis, x.ndim)
    if n < 0:
        raise MXNetError(f"diff: n must not be negative, got {n}")
    for _ in range(n):
        lead = (slice(None),) * axis
        x = pair("sub", op.get_item(x, index=(*lead, slice(1, None))), op.get_item(x, index=(*lead, slice(None, -1))))
    return _C.own(x, a)


for _function in (argsort, sort, cumsum, unique, nonzero, diff):
    _public(_function)


__all__ = sorted(set(__all__))
