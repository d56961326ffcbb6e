"""Shared code of parametric functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from compatgrad import _C

from .. import parameter as _parameter
from ..initializer import ConstantInitializer, UniformInitializer, calc_uniform_lim_glorot
from ..parameter import _existing, get_parameter, get_parameter_or_create, set_parameter
from ..variable import Variable

_INT = frozenset((int,))
_take = _C.take_parameter

# The shared sections of the docstrings of dense layers, and of convolutions, which also have those of `functions`.
DENSE = """
Args:
    inp: (*samples, *features), computed in float32: the samples are the axes before `base_axis`, the features are
        flattened to one axis.
    n_outmaps: the length, or lengths, of the axes that replace the features.
    base_axis: the first axis of the features, negative ones counted from the last.

Returns:
    Array (*samples, *n_outmaps).

Raises:
    TypeError: `inp` is neither a Variable nor an NdArray, or `n_outmaps` is not an integer or a tuple of integers.
    ValueError: `inp` does not have the axis, or a parameter exists with another shape.
"""
FILTERS = """
Args:
    inp: images (*samples, channels, *size), computed in float32: the samples are the axes before `base_axis`, and 1 to
        3 axes follow the channels.
    outmaps: the number of filters.
    kernel: the size of a filter along each spatial axis.
    channel_last: whether the channels are the last axis of images, filters and the result.

Returns:
    Array (*samples, outmaps, *positions).

Raises:
    RuntimeError: the shapes do not fit, or an argument does not have a number for each spatial axis.
    TypeError: `inp` is neither a Variable nor an NdArray, or an argument is a single number instead of one for each
        spatial axis.
    ValueError: `inp` does not have the axis, or a parameter exists with another shape.
"""


def glorot(rng: Any, inmaps: int, outmaps: int, kernel: Sequence[int] = (1, 1)) -> UniformInitializer:
    return UniformInitializer(calc_uniform_lim_glorot(inmaps, outmaps, tuple(kernel)), rng=rng)


def applied(function: Callable[[Any], Any] | None, parameter: Any) -> Any:
    return parameter if function is None or parameter is None else function(parameter)


def weight(
    name: str, shape: Sequence[int], init: Any, fix: bool, default: Callable[..., Any] | None = None, *args: Any
) -> Variable:
    """The parameter `name`. If it is missing, it is initialized by `init`, or, if that is None, by `default(*args)`."""
    found = _existing(name, shape, True, not fix)
    if found is not None:
        return found
    if init is None and default is not None:
        init = default(*args)
    return get_parameter_or_create(name, shape, init, True, not fix)


def plain_parameters(
    scope: Any, w_shape: list[int], b_shape: list[int], fix: bool
) -> tuple[Variable | None, Variable | None]:
    """W and b of a scope, as `weight` and `bias` return them; None in place of one that the scope does not have in this
    shape."""
    grad = not fix and not _parameter.current_no_grad
    return _take(scope, "W", w_shape, True, grad), _take(scope, "b", b_shape, True, grad)


def bias(shape: Sequence[int], init: Any, fix: bool, with_bias: bool = True, name: str = "b") -> Variable | None:
    """The parameter of the bias, initialized by `init` or zeros; None if `with_bias` is False."""
    return weight(name, shape, init, fix, ConstantInitializer) if with_bias else None


def axis_size(function: str, inp: Any, argument: str, axis: int) -> int:
    """The size of an axis of `inp`. Errors contain the names of the function and of the argument that gives the
    axis."""
    if not hasattr(inp, "shape"):
        raise TypeError(f"{function}: the input must be a Variable or an NdArray, not {type(inp).__name__}")
    shape = inp.shape
    if not (type(axis) is int or isinstance(axis, Integral)) or not -len(shape) <= axis < len(shape):
        text = f"{function}: {argument} is {axis!r}, but the input has the shape {shape}"
        raise getattr(np, "exceptions", np).AxisError(text)  # a ValueError, and an IndexError as nnabla's
    return shape[axis]


def sizes(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """A tuple of one size or of several. Raises TypeError with the names of the function and the argument unless they
    are whole numbers."""
    if type(value) is int:
        return (value,)
    if type(value) is tuple and all_ints(value):
        return value
    found = tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(n, Integral) or isinstance(n, float) and n.is_integer() for n in found):
        raise TypeError(f"{function}: {argument} must be integers, not {value!r}")
    return tuple(int(n) for n in found)


def all_ints(values: Iterable[Any]) -> bool:
    return _INT.issuperset(map(type, values))


def kernel_sizes(function: str, kernel: Any) -> tuple[int, ...]:
    """The spatial shape of filters. Raises TypeError unless `kernel` is a tuple of integers."""
    if not isinstance(kernel, Iterable):
        raise TypeError(f"{function}: kernel must be a tuple of integers, one per spatial axis, not {kernel!r}")
    return sizes(function, "kernel", kernel)


def dense_shapes(function: str, inp: Any, n_outmaps: Any, base_axis: int) -> tuple[list[int], int, int]:
    """The lengths of the output axes of a dense layer, the number of its inputs and the number of its outputs."""
    shape = getattr(inp, "shape", ())
    if type(n_outmaps) is int and type(base_axis) is int and 0 <= base_axis < len(shape):
        return [n_outmaps], math.prod(shape[base_axis:]), n_outmaps
    outs = sizes(function, "n_outmaps", n_outmaps)
    if base_axis != len(shape):  # without axes after base_axis there is one input
        try:
            axis_size(function, inp, "base_axis", base_axis)
        except IndexError as e:
            raise RuntimeError(str(e)) from None  # as nnabla's, from its function
    return list(outs), math.prod(shape[base_axis:]), math.prod(outs)


def filter_shapes(
    function: str, inp: Any, kernel: Any, group: int, channel_last: bool, base_axis: int
) -> tuple[int, tuple[int, ...]]:
    """The number of input channels, and the shape of one filter."""
    kernel = kernel_sizes(function, kernel)
    channels = axis_size(function, inp, "base_axis", -1 if channel_last else base_axis)
    if channel_last:
        return channels, (*kernel, channels // group)
    return channels, (channels // group, *kernel)


def decomposed(names: Sequence[str], compute: Callable[[], Sequence[Any]], fix: bool) -> list[Variable]:
    """The factors of a weight: the parameters `names`. If one is missing, `compute` makes all of them.

    Unlike other weights, the graph holds the parameter itself, so that a later change of its `need_grad` reaches it.
    """
    found = [get_parameter(name) for name in names]
    if any(param is None for param in found):
        found = [Variable.from_numpy_array(np.float32(value), need_grad=True) for value in compute()]
        for name, param in zip(names, found, strict=True):
            set_parameter(name, param)
    return [p.get_unlinked_variable(need_grad=not fix) if p.need_grad == fix else p for p in found]


def sampled(init: Any, shape: Sequence[int]) -> np.ndarray:
    """The initial array of a weight of `shape`, from an initializer or an array."""
    return np.reshape(init if isinstance(init, np.ndarray) else init(list(shape)), shape)
