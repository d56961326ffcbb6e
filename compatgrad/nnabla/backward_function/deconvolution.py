"""The gradients of deconvolution."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.convolution import deconvolution

__all__ = ["DeconvolutionDataGrad", "DeconvolutionFilterGrad"]


class DeconvolutionDataGrad(DataGrad, of="Deconvolution", forward=deconvolution):
    """Called with dy and weight: the gradient of x, whose shape must be set as `xshape` before."""


class DeconvolutionFilterGrad(FilterGrad, of="Deconvolution", forward=deconvolution):
    """Called with dy and x: the gradient of weight, whose shape must be set as `wshape` before."""
