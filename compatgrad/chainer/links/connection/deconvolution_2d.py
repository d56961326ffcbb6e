import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection.convolution_2d import _NO_DETERMINISTIC, _pair
from compatgrad.chainer.utils import argument


class Deconvolution2D(link.Link):
    """Two-dimensional transposed convolution with W of shape (in_channels, out_channels / groups, kh, kw).

    `in_channels=None`, or leaving it out, lets the first input tell the number. ValueError where `groups`
    does not divide the channels.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize=None,
        stride=1,
        pad=0,
        nobias=False,
        outsize=None,
        initialW=None,
        initial_bias=None,
        **kwargs,
    ):
        super().__init__()
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1), deterministic=_NO_DETERMINISTIC)
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        self.ksize = ksize
        self.stride = _pair(stride)
        self.pad = _pair(pad)
        self.dilate = _pair(dilate)
        self.outsize = (None, None) if outsize is None else outsize
        self.out_channels = out_channels
        self.groups = int(groups)
        if not nobias and isinstance(initial_bias, chainer.get_array_types()):
            assert initial_bias.shape == (out_channels,), (
                f"initial_bias must have shape {(out_channels,)}, not {initial_bias.shape}"
            )
        _weights.register(self, initialW, in_channels, nobias, initial_bias, out_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _pair(self.ksize)
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((in_channels, self.out_channels // self.groups, kh, kw))

    def forward(self, x):
        """Applies the transposed convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.deconvolution_2d(
            x,
            self.W,
            self.b,
            self.stride,
            self.pad,
            None if self.outsize == (None, None) else self.outsize,
            dilate=self.dilate,
            groups=self.groups,
        )
