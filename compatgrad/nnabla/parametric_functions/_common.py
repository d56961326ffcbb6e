"""Parameters that many parametric functions have alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..initializer import ConstantInitializer, UniformInitializer, calc_uniform_lim_glorot
from ..parameter import get_parameter, get_parameter_or_create, set_parameter
from ..variable import Variable


def glorot(rng: Any, inmaps: int, outmaps: int, kernel: Sequence[int] = (1, 1)) -> UniformInitializer:
    return UniformInitializer(calc_uniform_lim_glorot(inmaps, outmaps, tuple(kernel)), rng=rng)


def applied(function: Callable[[Any], Any] | None, parameter: Any) -> Any:
    return parameter if function is None or parameter is None else function(parameter)


def weight(name: str, shape: Sequence[int], init: Any, fix: bool) -> Variable:
    return get_parameter_or_create(name, shape, init, True, not fix)


def bias(shape: Sequence[int], init: Any, fix: bool, with_bias: bool = True, name: str = "b") -> Variable | None:
    """The bias, zeros unless `init` says otherwise; None without one."""
    if not with_bias:
        return None
    return weight(name, shape, ConstantInitializer() if init is None else init, fix)


def dense_shapes(inp: Any, n_outmaps: int | Iterable[int], base_axis: int) -> tuple[list[int], int, int]:
    """The output axes of a dense layer, the number of its inputs and that of its outputs."""
    outs = list(n_outmaps) if isinstance(n_outmaps, Iterable) else [n_outmaps]
    return outs, int(np.prod(inp.shape[base_axis:])), int(np.prod(outs))


def filter_shapes(
    inp: Any, kernel: Sequence[int], group: int, channel_last: bool, base_axis: int
) -> tuple[int, tuple[int, ...]]:
    """The number of input channels, and the shape of one filter."""
    channels = inp.shape[-1 if channel_last else base_axis]
    if channel_last:
        return channels, (*kernel, channels // group)
    return channels, (channels // group, *kernel)


def decomposed(names: Sequence[str], compute: Callable[[], Sequence[Any]], fix: bool) -> list[Variable]:
    """The factors of a weight: the parameters `names`, all of them computed if one is missing."""
    found = [get_parameter(name) for name in names]
    if any(param is None for param in found):
        found = [Variable.from_numpy_array(np.float32(value), need_grad=True) for value in compute()]
        for name, param in zip(names, found, strict=True):
            set_parameter(name, param)
    return [weight(name, param.shape, None, fix) for name, param in zip(names, found, strict=True)]


def sampled(init: Any, shape: Sequence[int]) -> np.ndarray:
    """The array that an initializer, or an array given in its place, starts a weight of `shape` from."""
    return np.reshape(init if isinstance(init, np.ndarray) else init(list(shape)), shape)
