import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable
from compatgrad.chainer.links import _weights
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D, _pair


class DeformableConvolution2D(link.Chain):
    """Deformable convolution (https://arxiv.org/abs/1703.06211): a convolution computes where another one
    samples."""

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize,
        stride=1,
        pad=0,
        offset_nobias=False,
        offset_initialW=None,
        offset_initial_bias=None,
        deform_nobias=False,
        deform_initialW=None,
        deform_initial_bias=None,
    ):
        super().__init__()
        kh, kw = _pair(ksize)
        offset = (ksize, stride, pad, offset_nobias, offset_initialW, offset_initial_bias)
        deform = (ksize, stride, pad, deform_nobias, deform_initialW, deform_initial_bias)
        with self.init_scope():
            self.offset_conv = Convolution2D(in_channels, 2 * kh * kw, *offset)
            self.deform_conv = DeformableConvolution2DSampler(in_channels, out_channels, *deform)

    def forward(self, x):
        """Applies the convolution to (batch, channels, height, width)."""
        return self.deform_conv(x, self.offset_conv(x))


class DeformableConvolution2DSampler(link.Link):
    """Convolution at positions that are shifted by given offsets."""

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
    ):
        super().__init__()
        self.ksize = ksize
        self.stride = _pair(stride)
        self.pad = _pair(pad)
        self.out_channels = out_channels
        self.initialW = initialW
        with self.init_scope():
            self.W = variable.Parameter(
                initializers._get_initializer(initializers.Zero() if initialW is None else initialW)
            )
            self.b = None if nobias else _weights.bias(initial_bias)
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels):
        kh, kw = _pair(self.ksize)
        self.W.initialize((self.out_channels, in_channels, kh, kw))
        if self.b is not None:
            self.b.initialize(self.out_channels)

    def forward(self, x, offset):
        """Applies the convolution to `x`, sampled where `offset` says."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.deformable_convolution_2d_sampler(x, offset, self.W, self.b, self.stride, self.pad)
