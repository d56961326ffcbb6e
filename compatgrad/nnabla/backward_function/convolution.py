"""The gradients of convolution."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.convolution import convolution

__all__ = ["ConvolutionDataGrad", "ConvolutionFilterGrad"]


class ConvolutionDataGrad(DataGrad, of="Convolution", forward=convolution):
    """Called with dy and weight: the gradient of x, whose shape must be set as `xshape` before."""


class ConvolutionFilterGrad(FilterGrad, of="Convolution", forward=convolution):
    """Called with dy and x: the gradient of weight, whose shape must be set as `wshape` before."""
