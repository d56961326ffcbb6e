import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D


class Inception(link.Chain):
    """Inception module of GoogLeNet (https://arxiv.org/abs/1409.4842)."""

    def __init__(
        self,
        in_channels,
        out1,
        proj3,
        out3,
        proj5,
        out5,
        proj_pool,
        conv_init=None,
        bias_init=None,
    ):
        super().__init__()
        init = {"initialW": conv_init, "initial_bias": bias_init}
        with self.init_scope():
            self.conv1 = Convolution2D(in_channels, out1, 1, **init)
            self.proj3 = Convolution2D(in_channels, proj3, 1, **init)
            self.conv3 = Convolution2D(proj3, out3, 3, pad=1, **init)
            self.proj5 = Convolution2D(in_channels, proj5, 1, **init)
            self.conv5 = Convolution2D(proj5, out5, 5, pad=2, **init)
            self.projp = Convolution2D(in_channels, proj_pool, 1, **init)

    def forward(self, x):
        """Concatenates the four branches along the channels."""
        out1 = self.conv1(x)
        out3 = self.conv3(F.relu(self.proj3(x)))
        out5 = self.conv5(F.relu(self.proj5(x)))
        pool = self.projp(F.max_pooling_2d(x, 3, stride=1, pad=1))
        return F.relu(F.concat((out1, out3, out5, pool), axis=1))
