"""The text of a Variable for `repr`, `str` and `debug_print`."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.backends import cuda


def _text(var, separator):
    arr = var.array
    prefix = f"variable {var.name}" if var.name else "variable"
    if arr is None:
        return f"{prefix}(None)"
    arr = cuda.to_cpu(arr)
    if separator != " " and arr.size == 0 and arr.shape != (0,):
        return f"{prefix}([], shape={arr.shape!r})"
    return f"{prefix}({numpy.array2string(arr, separator=separator, prefix=prefix + '(')})"


def variable_repr(var: Any) -> str:
    """The text of a Variable for `repr`.

    Args:
        var: Variable.

    Returns:
        str.

    Raises:
        AttributeError: `var` is no Variable.

    Example:
        >>> chainer.variable.variable_repr(chainer.Variable(np.array([1.0, 2.0]), name="x"))
        'variable x([1., 2.])'

    Source: `chainer.variable.variable_repr` of Chainer 7.8.1.
    """
    return _text(var, ", ")


def variable_str(var: Any) -> str:
    """The text of a Variable for `str`.

    Args:
        var: Variable.

    Returns:
        str.

    Raises:
        AttributeError: `var` is no Variable.

    Example:
        >>> chainer.variable.variable_str(chainer.Variable(np.array([1.0, 2.0]), name="x"))
        'variable x([1. 2.])'

    Source: `chainer.variable.variable_str` of Chainer 7.8.1.
    """
    return _text(var, " ")


def facts(var: Any) -> str:
    """A few lines of text: the device, and shape, dtype, mean and standard deviation of the data and of the
    gradient."""
    arr, grad, xp = var.array, var.grad, var.xp

    def statistics(a):
        return f"mean={float(xp.mean(a)):.8f}, std={float(xp.std(a)):.8f}"

    with backend.using_device(var.device):
        if grad is not None:
            grad = 0 if xp.all(grad == 0) else statistics(grad)
        if arr is None:
            rows = dict.fromkeys(("device", "backend", "shape", "dtype", "statistics"))
        else:
            rows = {
                "device": "CPU" if xp is numpy else arr.device,
                "backend": type(arr),
                "shape": arr.shape,
                "dtype": arr.dtype,
                "statistics": statistics(arr),
            }
    rows["grad"] = grad
    return "\n".join([var.summary(), *(f"- {what}: {fact}" for what, fact in rows.items())])
