"""The deconvolution layer."""

from ... import functions as F
from .convolution import Convolution


class Deconvolution(Convolution):
    """`functions.deconvolution` with parameters W (inmaps, outmaps / group, *kernel) and b (outmaps).

    The arguments are those of `parametric_functions.deconvolution`.
    """

    @staticmethod
    def _shape(inmaps, outmaps, group):
        return inmaps, outmaps // group

    def __call__(self, inp):
        return F.deconvolution(inp, self.W, self.b, self.base_axis, self.pad, self.stride, self.dilation, self.group)


Deconv1d = Deconv2d = Deconv3d = DeconvNd = Deconvolution
