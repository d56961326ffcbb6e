import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection.convolution_2d import _pair


class LocalConvolution2D(link.Link):
    """A convolution with a filter of its own for each position: W of shape (out_channels, oh, ow,
    in_channels, kh, kw).

    `in_channels=None` or `in_size=None` lets the first input tell both.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        in_size=None,
        ksize=None,
        stride=1,
        nobias=False,
        initialW=None,
        initial_bias=None,
        **kwargs,
    ):
        super().__init__()
        self.ksize = ksize
        self.stride = _pair(stride)
        self.nobias = nobias
        self.out_channels = out_channels
        with self.init_scope():
            self.W = variable.Parameter(initializers._get_initializer(initialW))
            self.b = None if nobias else _weights.bias(initial_bias)
            if in_channels is not None and in_size is not None:
                self._initialize_params(in_channels, _pair(in_size))

    def _initialize_params(self, in_channels, in_size):
        kh, kw = _pair(self.ksize)
        ih, iw = _pair(in_size)
        outsize = (ih - kh + 1, iw - kw + 1)  # whatever the stride is, as in the original
        self.W.initialize((self.out_channels, *outsize, in_channels, kh, kw))
        if not self.nobias:
            self.b.initialize((self.out_channels, *outsize))

    def forward(self, x):
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1], x.shape[2:])
        return F.local_convolution_2d(x, self.W, self.b, self.stride)
