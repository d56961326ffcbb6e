"""Functions that behave like NumPy's functions of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.functions.arithmetic import mul2, mul_scalar
from compatgrad.nnabla.functions.arrays import broadcast, reshape, transpose
from compatgrad.nnabla.functions.layers import affine
from compatgrad.nnabla.functions.reduction import sum as _sum
from compatgrad.nnabla.variable import Variable

__all__ = ["dot"]


def _product(a: Any, b: Any) -> Any:
    """numpy.dot of two Variables or NdArrays of one or more axes."""
    if a.ndim == 1 and b.ndim == 1:
        return _sum(a * b)
    if b.ndim == 1:
        h = affine(a, reshape(b, (-1, 1)), base_axis=a.ndim - 1)
        return reshape(h, h.shape[:-1])
    if a.ndim == 1:
        h = _product(reshape(a, (1, -1)), b)
        return reshape(h, h.shape[1:])
    if b.ndim > 2:  # the axis over which the sum is taken must be the first
        k = b.ndim - 2
        b = transpose(b, (k, *range(k), b.ndim - 1))
    return affine(a, b, base_axis=a.ndim - 1)


def _scaled(number: Any, x: Any) -> Any:
    """x times an array of shape (). Where both are Variables, the number gets a gradient, too."""
    if isinstance(number, NdArray):
        return mul_scalar(x, float(number.data))
    return mul2(broadcast(number, x.shape), x)


def dot(a: Any, b: Any, out: Variable | NdArray | np.ndarray | None = None) -> Any:
    """numpy.dot: inner product of vectors, product of matrices, sum over the last axis of a and the last but one of b.

    Args:
        a: a Variable, NdArray, array or number. An array of shape () is a factor of the other.
        b: likewise.
        out: an array of the type, shape and dtype of the result, into which the result is written.

    Returns:
        A Variable or NdArray, or NumPy's result where neither is a Variable or NdArray; None with `out`.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: `out` is of another type, shape or dtype, or the shapes of plain arrays do not fit.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> F.dot(x, nn.NdArray.from_numpy_array(np.array([1.0, 10.0]))).data
        array([21., 43.], dtype=float32)

    Source: `nnabla.numpy_compat_functions.dot` of nnabla 1.39.0.
    """
    kinds = Variable | NdArray
    if isinstance(a, Variable) and isinstance(b, NdArray):  # with an NdArray, everything runs at once
        a = a.data
    elif isinstance(a, NdArray) and isinstance(b, Variable):
        b = b.data
    if not (isinstance(a, kinds) and isinstance(b, kinds)):
        result = np.dot(a, b)
    elif a.ndim == 0:
        result = _scaled(a, b)
    elif b.ndim == 0:
        result = _scaled(b, a)
    else:
        result = _product(a, b)
    if out is None:
        return result

    def array(v: Any) -> Any:
        return v.data if isinstance(v, NdArray) else v.d if isinstance(v, Variable) else v

    there, here = array(out), array(result)
    if type(out) is not type(result) or there.shape != here.shape or there.dtype != here.dtype:
        raise ValueError(
            "dot: out must have the type, shape and dtype of the result, "
            f"{type(result).__name__} {here.shape} {here.dtype}, not "
            f"{type(out).__name__} {there.shape} {there.dtype}."
        )
    if isinstance(out, NdArray):
        out.cast(here.dtype)[...] = here
    elif isinstance(out, Variable):
        out.rewire_on(result)
    elif isinstance(out, np.ndarray):
        out[...] = result
    return None
