"""The gradients of deconvolution."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.convolution import deconvolution

__all__ = ["DeconvolutionDataGrad", "DeconvolutionFilterGrad"]


class DeconvolutionDataGrad(
    DataGrad, of="Deconvolution", forward=deconvolution, example=("", (2, 3, 6), (2, 4, 8), (3, 4, 3))
):
    """The gradient of `deconvolution` with respect to `x`. A call takes dy and the kernels."""


class DeconvolutionFilterGrad(
    FilterGrad, of="Deconvolution", forward=deconvolution, example=("", (3, 4, 3), (2, 4, 8), (2, 3, 6))
):
    """The gradient of `deconvolution` with respect to the kernels. A call takes dy and `x`."""
