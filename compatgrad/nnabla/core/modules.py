"""Modules that networks are often made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import functions as F
from .. import parametric_functions as PF
from .module import Module

__all__ = ["ConvBn", "ResUnit", "complete_dims", "get_conv_same_pad"]


def complete_dims(s: int | Iterable[int], dims: int) -> tuple[int, ...]:
    """`s` for each of `dims` axes; a sequence of as many numbers as it is. ValueError for another length."""
    whole = tuple(s) if isinstance(s, Iterable) else (s,) * dims
    if len(whole) != dims:
        raise ValueError(f"one number or {dims} are needed, not {whole}")
    return whole


def get_conv_same_pad(k: Iterable[int]) -> tuple[int, ...]:
    """The padding with which a convolution by a kernel `k` of odd sizes keeps the size of images."""
    return tuple(size // 2 for size in k)


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
        kernel = complete_dims(self.kernel, 2)
        pad = get_conv_same_pad(kernel)
        h = PF.convolution(x, self.outmaps, kernel, pad, complete_dims(self.stride, 2), with_bias=False)
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
