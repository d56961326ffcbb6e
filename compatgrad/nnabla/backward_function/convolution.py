"""The gradients of convolution."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.convolution import convolution

__all__ = ["ConvolutionDataGrad", "ConvolutionFilterGrad"]


class ConvolutionDataGrad(
    DataGrad, of="Convolution", forward=convolution, example=("", (2, 3, 8), (2, 4, 6), (4, 3, 3))
):
    """The gradient of `convolution` with respect to `x`. A call takes dy and the kernels."""


class ConvolutionFilterGrad(
    FilterGrad, of="Convolution", forward=convolution, example=("", (4, 3, 3), (2, 4, 6), (2, 3, 8))
):
    """The gradient of `convolution` with respect to the kernels. A call takes dy and `x`."""
