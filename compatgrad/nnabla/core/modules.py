"""Modules that networks are often made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import functions as F
from .. import parametric_functions as PF
from .module import Module

__all__ = ["ConvBn", "ResUnit"]


def _pair(value: int | Iterable[int]) -> tuple[int, ...]:
    pair = tuple(value) if isinstance(value, Iterable) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"one number or two are needed, not {pair}")
    return pair


class ConvBn(Module):
    """2-D convolution of the same padding and without a bias, batch normalization, then `act` if given."""

    def __init__(
        self,
        outmaps: int,
        kernel: int | Iterable[int] = 1,
        stride: int | Iterable[int] = 1,
        act: Callable[[Any], Any] | None = None,
    ) -> None:
        self.outmaps = outmaps
        self.kernel = kernel
        self.stride = stride
        self.act = act

    def call(self, x: Any, training: bool = True) -> Any:
        kernel = _pair(self.kernel)
        pad = tuple(size // 2 for size in kernel)
        h = PF.convolution(x, self.outmaps, kernel, pad, _pair(self.stride), with_bias=False)
        h = PF.batch_normalization(h, batch_stat=training)
        return h if self.act is None else self.act(h)


class ResUnit(Module):
    """Bottleneck of a residual network: three `ConvBn` to `channels`, and a fourth in the shortcut."""

    def __init__(self, channels: int, stride: int | Iterable[int] = 1, skip_by_conv: bool = True) -> None:
        self.conv1 = ConvBn(channels // 4, act=F.relu)
        self.conv2 = ConvBn(channels // 4, 3, stride, act=F.relu)
        self.conv3 = ConvBn(channels)
        self.skip_by_conv = skip_by_conv
        self.skip = ConvBn(channels, 1, stride)

    def call(self, x: Any, training: bool = True) -> Any:
        h = self.conv3(self.conv2(self.conv1(x)))
        return F.relu(h + (self.skip(x) if self.skip_by_conv else x))
