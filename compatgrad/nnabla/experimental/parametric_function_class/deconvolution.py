"""The deconvolution layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import functions as F
from .convolution import Convolution

if TYPE_CHECKING:
    from ...variable import Variable

__all__ = ["Deconv1d", "Deconv2d", "Deconv3d", "DeconvNd", "Deconvolution"]


class Deconvolution(Convolution):
    """A deconvolution, `functions.deconvolution`.

    Its parameters are W (inmaps, outmaps / group, *kernel) and b (outmaps,).

    Args:
        inmaps: the number of input channels.
        outmaps: the number of output channels.
        kernel: the kernel's size in each spatial axis.
        pad: number of elements to cut off on both sides of each spatial axis; None for 0.
        stride: distances in the output between neighbouring input elements; None for 1.
        dilation: distances of the kernel's elements; None for 1.
        group: the number of groups of channels, which are not connected to one another.
        w_init: initializer or array for W; None for uniform random numbers after Glorot and Bengio (2010).
        b_init: initializer or array for b; None for zeros.
        base_axis: the number of leading axes of an input that are axes of samples.
        fix_parameters: whether the parameters need no gradient.
        rng: draws the random numbers of W; None for nnabla's own.
        with_bias: whether there is b.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> layer = PC.Deconv2d(8, 3, (2, 2), stride=(2, 2))
        >>> layer(nn.Variable((2, 8, 16, 16))).shape, layer.W.shape
        ((2, 3, 32, 32), (8, 3, 2, 2))

    Source: `nnabla.experimental.parametric_function_class.deconvolution.Deconvolution` of nnabla 1.39.0.
    """

    @staticmethod
    def _shape(inmaps, outmaps, group):
        return inmaps, outmaps // group

    def __call__(self, inp: Variable) -> Variable:
        return F.deconvolution(inp, self.W, self.b, self.base_axis, self.pad, self.stride, self.dilation, self.group)


Deconv1d = Deconv2d = Deconv3d = DeconvNd = Deconvolution
