from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Inception(link.Chain):
    """Inception module of GoogLeNet: 1x1, 3x3 and 5x5 convolutions and max pooling in parallel, the latter three each
    with another 1x1 convolution; their results are joined along the channels.

    Inputs are floating-point arrays of shape (batch, in_channels, height, width); the result has out1 + out3 + out5 +
    proj_pool channels and the same height and width.

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out1: channels of the 1x1 convolution.
        proj3: channels before the 3x3 convolution.
        out3: channels of the 3x3 convolution.
        proj5: channels before the 5x5 convolution.
        out5: channels of the 5x5 convolution.
        proj_pool: channels of the 1x1 convolution after pooling.
        conv_init: initializer of the convolutions' W; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.

    Example:
        >>> link = L.Inception(3, out1=2, proj3=1, out3=4, proj5=1, out5=3, proj_pool=1)
        >>> link(np.zeros((1, 3, 8, 8), np.float32)).shape
        (1, 10, 8, 8)

    Source: `chainer.links.Inception` of Chainer 7.8.1; Szegedy et al., 2015.
    """

    def __init__(
        self,
        in_channels: int | None,
        out1: int,
        proj3: int,
        out3: int,
        proj5: int,
        out5: int,
        proj_pool: int,
        conv_init: Initializer = None,
        bias_init: Initializer = None,
    ) -> None:
        super().__init__()
        init = {"initialW": conv_init, "initial_bias": bias_init}
        with self.init_scope():
            self.conv1 = Convolution2D(in_channels, out1, 1, **init)
            self.proj3 = Convolution2D(in_channels, proj3, 1, **init)
            self.conv3 = Convolution2D(proj3, out3, 3, pad=1, **init)
            self.proj5 = Convolution2D(in_channels, proj5, 1, **init)
            self.conv5 = Convolution2D(proj5, out5, 5, pad=2, **init)
            self.projp = Convolution2D(in_channels, proj_pool, 1, **init)

    def forward(self, x: VariableOrArray) -> Variable:
        """Concatenates the four branches along the channels."""
        out1 = self.conv1(x)
        out3 = self.conv3(F.relu(self.proj3(x)))
        out5 = self.conv5(F.relu(self.proj5(x)))
        pool = self.projp(F.max_pooling_2d(x, 3, stride=1, pad=1))
        return F.relu(F.concat((out1, out3, out5, pool), axis=1))
