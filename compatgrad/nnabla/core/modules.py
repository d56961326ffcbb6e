"""Modules that occur in many networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import functions as F
from .. import parametric_functions as PF
from .module import Module

__all__ = ["ConvBn", "ResUnit", "complete_dims", "get_conv_same_pad"]


def complete_dims(s: int | Iterable[int], dims: int) -> tuple[int, ...]:
    """A tuple with one number for each of several axes.

    Args:
        s: one number for all axes, or one for each.
        dims: the number of axes.

    Returns:
        `dims` numbers.

    Raises:
        ValueError: `s` is a sequence of another length.

    Example:
        >>> from compatgrad.nnabla.core.modules import complete_dims
        >>> complete_dims(3, 2), complete_dims([3, 5], 2)
        ((3, 3), (3, 5))

    Source: `nnabla.core.modules.complete_dims` of nnabla 1.39.0.
    """
    whole = tuple(s) if isinstance(s, Iterable) else (s,) * dims
    if len(whole) != dims:
        raise ValueError(f"expected one number or {dims} numbers, got {whole}")
    return whole


def get_conv_same_pad(k: Iterable[int]) -> tuple[int, ...]:
    """The padding k // 2, with which a convolution of stride 1 by a kernel of odd sizes keeps the size of images.

    Args:
        k: the sizes of the kernel.

    Returns:
        The padding of each axis.

    Raises:
        TypeError: `k` is one number.

    Example:
        >>> from compatgrad.nnabla.core.modules import get_conv_same_pad
        >>> get_conv_same_pad((3, 5))
        (1, 2)

    Source: `nnabla.core.modules.get_conv_same_pad` of nnabla 1.39.0.
    """
    return tuple(size // 2 for size in k)


class ConvBn(Module):
    """2-D convolution without a bias, which keeps the size of images at stride 1, then batch normalization, then `act`.

    It is called with a Variable (batch, channels, height, width) and `training`, whether the batch's own statistics are
    used.

    Args:
        outmaps: the number of output channels.
        kernel: the size of the kernel, one for both axes or a pair.
        stride: the step of the kernel, one for both axes or a pair.
        act: an activation function, such as `F.relu`; None for none.

    Example:
        >>> from compatgrad.nnabla.core.modules import ConvBn
        >>> block = ConvBn(4, kernel=3, stride=2, act=F.relu)
        >>> block(nn.Variable((1, 3, 8, 8))).shape
        (1, 4, 4, 4)
        >>> sorted(block.get_parameters())
        ['bn/beta', 'bn/gamma', 'bn/mean', 'bn/var', 'conv/W']

    Source: `nnabla.core.modules.ConvBn` of nnabla 1.39.0.
    """

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
    """Bottleneck unit of a residual network: relu(f(x) + skip(x)), where f is three `ConvBn`.

    It is called with a Variable (batch, channels, height, width). The first two convolutions have `channels // 4`
    outputs.

    Args:
        channels: the number of output channels.
        stride: the step of the second convolution and of the shortcut, one for both axes or a pair.
        skip_by_conv: whether the shortcut is a `ConvBn`. Otherwise it is the identity, which needs an input of
            `channels` channels and stride 1.

    Example:
        >>> from compatgrad.nnabla.core.modules import ResUnit
        >>> ResUnit(8, stride=2)(nn.Variable((1, 3, 8, 8))).shape
        (1, 8, 4, 4)

    Source: `nnabla.core.modules.ResUnit` of nnabla 1.39.0.
    """

    def __init__(self, channels: int, stride: int | Iterable[int] = 1, skip_by_conv: bool = True) -> None:
        self.conv1 = ConvBn(channels // 4, act=F.relu)
        self.conv2 = ConvBn(channels // 4, 3, stride, act=F.relu)
        self.conv3 = ConvBn(channels)
        self.skip_by_conv = skip_by_conv
        self.skip = ConvBn(channels, 1, stride)

    def call(self, x: Any, training: bool = True) -> Any:
        h = self.conv3(self.conv2(self.conv1(x)))
        return F.relu(h + (self.skip(x) if self.skip_by_conv else x))
