"""Dilated convolution, from before `convolution_2d` took `dilate`."""

from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d


def dilated_convolution_2d(x, W, b=None, stride=1, pad=0, dilate=1, cover_all=False):
    """`convolution_2d` with `dilate`."""
    return convolution_2d(x, W, b, stride, pad, cover_all, dilate=dilate)
