import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.utils import argument

_NO_WSCALE = (
    "wscale is not supported anymore. Use conv_init and bias_init argument to change the scale of initial parameters."
)


class MLPConvolution2D(link.ChainList):
    """A convolution followed by 1x1 convolutions, `activation` between them
    (https://arxiv.org/abs/1312.4400v3).

    `out_channels` is a tuple: one number per convolution. TypeError for more positional arguments.
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        ksize=None,
        stride=1,
        pad=0,
        activation=F.relu,
        *args,
        **kwargs,
    ):
        if args:
            raise TypeError(_NO_WSCALE)
        argument.check_unexpected_kwargs(kwargs, wscale=_NO_WSCALE)
        conv_init, bias_init = argument.parse_kwargs(kwargs, ("conv_init", None), ("bias_init", None))
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        assert len(out_channels) > 0, "out_channels is empty; one number for each layer was expected"
        init = {"initialW": conv_init, "initial_bias": bias_init}
        convs = [Convolution2D(in_channels, out_channels[0], ksize, stride, pad, **init)]
        for n_in, n_out in zip(out_channels, out_channels[1:], strict=False):
            convs.append(Convolution2D(n_in, n_out, 1, **init))
        super().__init__(*convs)
        self.activation = activation

    def forward(self, x):
        """Applies the convolutions to (batch, channels, height, width)."""
        for conv in self[:-1]:
            x = self.activation(conv(x))
        return self[-1](x)
