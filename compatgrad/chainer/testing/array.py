"""Comparison of arrays, and arrays of unusual memory layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from compatgrad.chainer import backend, utils
from compatgrad.chainer.backend import using_device


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Checks that |x - y| <= atol + rtol * |y| for all elements of arrays of one shape.

    Args:
        x: an array or a number, also on a GPU.
        y: the expected array or number, also on a GPU.
        atol: absolute tolerance.
        rtol: relative tolerance.
        verbose: whether the message shows the arrays.

    Raises:
        AssertionError: an element exceeds the tolerance, or the shapes differ; the message shows the element with the
            largest excess.
        TypeError: `x` or `y` is neither an array nor a number.

    Example:
        >>> from compatgrad.chainer import testing
        >>> testing.assert_allclose(np.array([1.0, 2.0]), np.array([1.0, 2.00001]))

    Source: `chainer.testing.assert_allclose` of Chainer 7.8.1.
    """
    cpu = backend.CpuDevice()
    x = cpu.send(utils.force_array(x))
    y = cpu.send(utils.force_array(y))
    try:
        np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, verbose=verbose)
    except AssertionError as e:
        raise AssertionError(_describe_difference(str(e), x, y, atol, rtol)) from None


def _describe_difference(message, x, y, atol, rtol):
    lines = [message, "", "assert_allclose failed:", f"  shape: {x.shape} {y.shape}", f"  dtype: {x.dtype} {y.dtype}"]
    if x.shape == y.shape:
        lines += _describe_worst(np.atleast_1d(x), np.atleast_1d(y), atol, rtol)
    with np.printoptions(threshold=10000):
        lines += [f"{name}: {np.array2string(a, prefix=name + ': ')}" for name, a in (("x", x), ("y", y))]
    return "\n".join(lines) + "\n"


def _describe_worst(x, y, atol, rtol):
    # In double precision: differences of unsigned integers wrap around and those of booleans do not exist.
    wide = np.result_type(x, y, np.float64)
    size = np.abs(y.astype(wide))
    error = np.abs(x.astype(wide) - y.astype(wide))
    i = np.unravel_index(np.argmax(error - (atol + rtol * size)), error.shape)
    relative = "inf" if y[i] == 0 else error[i] / size[i]
    return [
        f"  i: {tuple(int(k) for k in i)}",
        f"  x[i]: {x[i]}",
        f"  y[i]: {y[i]}",
        f"  relative error[i]: {relative}",
        f"  absolute error[i]: {error[i]}",
        f"  relative tolerance * |y[i]|: {rtol * size[i]}",
        f"  absolute tolerance: {atol}",
        f"  total tolerance: {atol + rtol * size[i]}",
    ]


def _as_noncontiguous_array(array):
    """Copy an array, or a list or tuple of arrays, into every other element of a larger array, in reverse order.

    None and arrays of at most one element are returned as they are.
    """
    if isinstance(array, (list, tuple)):
        return type(array)([_as_noncontiguous_array(a) for a in array])
    if array is None or array.size <= 1:
        return array
    device = backend.get_device_from_array(array)
    with using_device(device):
        base = device.xp.empty([2 * n for n in array.shape], dtype=array.dtype)
    view = base[(slice(None, None, -2),) * array.ndim]
    view[...] = array
    return view
