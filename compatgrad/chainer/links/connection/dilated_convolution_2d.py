import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection.convolution_2d import _pair


class DilatedConvolution2D(link.Link):
    """Two-dimensional convolution with dilation; W has shape (out_channels, in_channels, kh, kw).

    `in_channels=None`, or leaving it out, lets the first input tell the number.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize=None,
        stride=1,
        pad=0,
        dilate=1,
        nobias=False,
        initialW=None,
        initial_bias=None,
    ):
        super().__init__()
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        self.ksize = ksize
        self.stride = _pair(stride)
        self.pad = _pair(pad)
        self.dilate = _pair(dilate)
        self.out_channels = out_channels
        _weights.register(self, initialW, in_channels, nobias, initial_bias, out_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _pair(self.ksize)
        self.W.initialize((self.out_channels, in_channels, kh, kw))

    def forward(self, x):
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.dilated_convolution_2d(x, self.W, self.b, self.stride, self.pad, self.dilate)
