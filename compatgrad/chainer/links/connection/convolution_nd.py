import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable
from compatgrad.chainer.links import _weights
from compatgrad.chainer.utils import argument, conv_nd


class ConvolutionND(link.Link):
    """Convolution in `ndim` dimensions with W of shape (out_channels, in_channels / groups, k1, ..., kn).

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
        initialW=None,
        initial_bias=None,
        cover_all=False,
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
        self.cover_all = cover_all
        self.dilate = conv_nd.as_tuple(dilate, ndim)
        self.groups = int(groups)
        _weights.register(self, initialW, in_channels, nobias, initial_bias, out_channels)

    def _initialize_params(self, in_channels):
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((self.out_channels, in_channels // self.groups, *self.ksize))

    @classmethod
    def from_params(cls, W, b=None, stride=1, pad=0, nobias=False, **kwargs):
        """Makes the link from its arrays. ValueError where the sizes of W and b differ."""
        cover_all, dilate, groups = argument.parse_kwargs(kwargs, ("cover_all", False), ("dilate", 1), ("groups", 1))
        out_channels, in_channels, *ksize = W.shape
        _weights.check_bias_size(out_channels, b, "out_channels")
        return cls(
            len(ksize),
            in_channels * groups,
            out_channels,
            ksize,
            stride,
            pad,
            nobias,
            initialW=variable.as_array(W),
            initial_bias=variable.as_array(b),
            cover_all=cover_all,
            dilate=dilate,
            groups=groups,
        )

    def forward(self, x):
        """Applies the convolution to (batch, channels, d1, ..., dn)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.convolution_nd(
            x,
            self.W,
            self.b,
            self.stride,
            self.pad,
            cover_all=self.cover_all,
            dilate=self.dilate,
            groups=self.groups,
        )


class Convolution1D(ConvolutionND):
    """One-dimensional convolution. See `ConvolutionND`."""

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize,
        stride=1,
        pad=0,
        nobias=False,
        initialW=None,
        initial_bias=None,
        cover_all=False,
        dilate=1,
        groups=1,
    ):
        args = (in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias)
        super().__init__(1, *args, cover_all, dilate, groups)


class Convolution3D(ConvolutionND):
    """Three-dimensional convolution. See `ConvolutionND`."""

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize,
        stride=1,
        pad=0,
        nobias=False,
        initialW=None,
        initial_bias=None,
        cover_all=False,
        dilate=1,
        groups=1,
    ):
        args = (in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias)
        super().__init__(3, *args, cover_all, dilate, groups)
