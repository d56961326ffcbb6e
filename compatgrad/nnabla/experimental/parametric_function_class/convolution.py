"""The convolution layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import functions as F
from ...initializer import UniformInitializer, calc_uniform_lim_glorot
from .module import Module, make_parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy as np

    from ...variable import Variable

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvNd", "Convolution"]


class Convolution(Module):
    """A convolution, `functions.convolution`, with parameters W (outmaps, inmaps / group, *kernel) and b (outmaps,).

    Args:
        inmaps: the number of input channels.
        outmaps: the number of output channels.
        kernel: the kernel's size in each spatial axis.
        pad: zeros on both sides of each spatial axis; None for none.
        stride: steps in each spatial axis; None for 1.
        dilation: distances between the kernel's elements; None for 1.
        group: number of groups of channels; an output channel is computed from the input channels of its group.
        w_init: initializer or array for W; None for uniform random numbers after Glorot and Bengio (2010).
        b_init: initializer or array for b; None for zeros.
        base_axis: the number of leading axes of an input that are axes of samples.
        fix_parameters: whether the parameters need no gradient.
        rng: draws the random numbers of W; None for nnabla's own.
        with_bias: whether there is b.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> layer = PC.Conv2d(3, 8, (3, 3), pad=(1, 1))
        >>> layer(nn.Variable((2, 3, 16, 16))).shape, layer.W.shape
        ((2, 8, 16, 16), (8, 3, 3, 3))

    Source: `nnabla.experimental.parametric_function_class.convolution.Convolution` of nnabla 1.39.0.
    """

    def __init__(
        self,
        inmaps: int,
        outmaps: int,
        kernel: Sequence[int],
        pad: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        group: int = 1,
        w_init: Callable[..., Any] | np.ndarray | None = None,
        b_init: Callable[..., Any] | np.ndarray | None = None,
        base_axis: int = 1,
        fix_parameters: bool = False,
        rng: np.random.RandomState | None = None,
        with_bias: bool = True,
    ) -> None:
        if w_init is None:
            w_init = UniformInitializer(calc_uniform_lim_glorot(inmaps, outmaps, tuple(kernel)), rng=rng)
        self.W = make_parameter(self._shape(inmaps, outmaps, group) + tuple(kernel), w_init, fix_parameters)
        self.b = make_parameter((outmaps,), b_init, fix_parameters) if with_bias else None
        self.base_axis = base_axis
        self.pad = pad
        self.stride = stride
        self.dilation = dilation
        self.group = group

    @staticmethod
    def _shape(inmaps, outmaps, group):
        return outmaps, inmaps // group

    def __call__(self, inp: Variable) -> Variable:
        return F.convolution(inp, self.W, self.b, self.base_axis, self.pad, self.stride, self.dilation, self.group)


Conv1d = Conv2d = Conv3d = ConvNd = Convolution
