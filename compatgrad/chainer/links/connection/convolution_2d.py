import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable
from compatgrad.chainer.links import _weights
from compatgrad.chainer.utils import argument

_NO_DETERMINISTIC = (
    "deterministic argument is not supported anymore. Use "
    "chainer.using_config('cudnn_deterministic', value) context where value is either `True` or `False`."
)


def _pair(x):
    return x if hasattr(x, "__getitem__") else (x, x)


class Convolution2D(link.Link):
    """Two-dimensional convolution with W of shape (out_channels, in_channels / groups, kh, kw).

    `Convolution2D(in_channels, out_channels, ksize)`, or `Convolution2D(out_channels, ksize)` or
    `in_channels=None`, where the first input tells the number. ValueError where `groups` does not divide the
    channels.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize=None,
        stride=1,
        pad=0,
        nobias=False,
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
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.groups = int(groups)
        _weights.register(self, initialW, in_channels, nobias, initial_bias, out_channels)

    @property
    def printable_specs(self):
        for name in ("in_channels", "out_channels", "ksize", "stride", "pad"):
            yield name, getattr(self, name)
        yield "nobias", self.b is None
        yield "dilate", self.dilate
        yield "groups", self.groups

    def _initialize_params(self, in_channels):
        kh, kw = _pair(self.ksize)
        _weights.check_groups(in_channels, self.out_channels, self.groups)
        self.W.initialize((self.out_channels, in_channels // self.groups, kh, kw))

    @classmethod
    def from_params(cls, W, b=None, stride=1, pad=0, nobias=False, **kwargs):
        """Makes the link from its arrays. ValueError where the sizes of W and b differ."""
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1))
        out_channels, in_channels, kh, kw = W.shape
        _weights.check_bias_size(out_channels, b, "out_channels")
        return cls(
            in_channels * groups,
            out_channels,
            (kh, kw),
            stride,
            pad,
            nobias,
            initialW=variable.as_array(W),
            initial_bias=variable.as_array(b),
            dilate=dilate,
            groups=groups,
        )

    def forward(self, x):
        """Applies the convolution to (batch, channels, height, width)."""
        if self.W.tensor is None:
            self._initialize_params(x.shape[1])
        return F.convolution_2d(x, self.W, self.b, self.stride, self.pad, dilate=self.dilate, groups=self.groups)
