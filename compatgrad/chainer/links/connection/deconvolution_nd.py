import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links import _weights
from compatgrad.chainer.utils import conv_nd


class DeconvolutionND(link.Link):
    """Transposed convolution in `ndim` dimensions with W of shape (in_channels, out_channels / groups, k1,
    ..., kn).

    `in_channels=None`, or leaving it out, lets the first input tell the number. ValueError where `groups`
    does not divide the channels.
    """

    def __init__(
        self,
        ndim,
        in_channels,
        out_channels,
        ksize=None,
        stride=1,
        pad=0,
        nobias=False,
        outsize=None,
        initialW=None,
        initial_bias=None,
        dilate=1,
        groups=1,
    ):
        super().__init__()
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        self.out_channels = out_channels
        self.ksize = conv_nd.as_tuple(ksize, ndim)
        self.stride = stride
        self.pad = pad
        self.outsize = outsize
        self.dilate = conv_nd.as_tuple(dilate, ndim)
        self.groups = int(groups)
        _weights.register(self, initialW, in_channels, nobias, initial_bias, out_channels)

    def _initialize_params(self, in_channels):
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((in_channels, self.out_channels // self.groups, *self.ksize))

    def forward(self, x):
        """Applies the transposed convolution to (batch, channels, d1, ..., dn)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.deconvolution_nd(
            x,
            self.W,
            b=self.b,
            stride=self.stride,
            pad=self.pad,
            outsize=self.outsize,
            dilate=self.dilate,
            groups=self.groups,
        )


class Deconvolution1D(DeconvolutionND):
    """One-dimensional transposed convolution. See `DeconvolutionND`."""

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize,
        stride=1,
        pad=0,
        nobias=False,
        outsize=None,
        initialW=None,
        initial_bias=None,
        dilate=1,
        groups=1,
    ):
        args = (in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias)
        super().__init__(1, *args, dilate, groups)


class Deconvolution3D(DeconvolutionND):
    """Three-dimensional transposed convolution. See `DeconvolutionND`."""

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize,
        stride=1,
        pad=0,
        nobias=False,
        outsize=None,
        initialW=None,
        initial_bias=None,
        dilate=1,
        groups=1,
    ):
        args = (in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias)
        super().__init__(3, *args, dilate, groups)
