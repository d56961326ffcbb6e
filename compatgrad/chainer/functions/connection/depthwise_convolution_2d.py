"""Depthwise convolution."""

from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d


def depthwise_convolution_2d(x, W, b=None, stride=1, pad=0):
    """Convolution of each channel of x (N, C, H, W) with its own filters W (multiplier, C, kh, kw).

    The result has C * multiplier channels, those of the first input channel first; b has as many elements.
    `stride` and `pad`: an int or a pair.
    """
    multiplier, channels, kh, kw = W.shape
    W = reshape(transpose(W, (1, 0, 2, 3)), (multiplier * channels, 1, kh, kw))
    return convolution_2d(x, W, b, stride, pad, groups=channels)
