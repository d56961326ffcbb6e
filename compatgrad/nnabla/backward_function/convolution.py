"""The gradients of convolution."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.convolution import convolution

__all__ = ["ConvolutionDataGrad", "ConvolutionFilterGrad"]


class ConvolutionDataGrad(DataGrad, of="Convolution", forward=convolution):
    """The gradient of `convolution` with respect to `x`. A call takes dy and the kernels.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.convolution import ConvolutionDataGrad
        >>> f = ConvolutionDataGrad(None)
        >>> f.xshape = (2, 3, 8)
        >>> f(nn.Variable((2, 4, 6)), nn.Variable((4, 3, 3))).shape
        (2, 3, 8)
    """


class ConvolutionFilterGrad(FilterGrad, of="Convolution", forward=convolution):
    """The gradient of `convolution` with respect to the kernels. A call takes dy and `x`.

    Attributes:
        wshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.convolution import ConvolutionFilterGrad
        >>> f = ConvolutionFilterGrad(None)
        >>> f.wshape = (4, 3, 3)
        >>> f(nn.Variable((2, 4, 6)), nn.Variable((2, 3, 8))).shape
        (4, 3, 3)
    """
