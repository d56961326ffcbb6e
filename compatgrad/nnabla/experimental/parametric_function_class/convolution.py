"""The convolution layer."""

from ... import functions as F
from ...initializer import UniformInitializer, calc_uniform_lim_glorot
from .module import Module, make_parameter


class Convolution(Module):
    """`functions.convolution` with parameters W (outmaps, inmaps / group, *kernel) and b (outmaps).

    The arguments are those of `parametric_functions.convolution`.
    """

    def __init__(
        self,
        inmaps,
        outmaps,
        kernel,
        pad=None,
        stride=None,
        dilation=None,
        group=1,
        w_init=None,
        b_init=None,
        base_axis=1,
        fix_parameters=False,
        rng=None,
        with_bias=True,
    ):
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

    def __call__(self, inp):
        return F.convolution(inp, self.W, self.b, self.base_axis, self.pad, self.stride, self.dilation, self.group)


Conv1d = Conv2d = Conv3d = ConvNd = Convolution
