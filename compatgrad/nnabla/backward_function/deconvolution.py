"""The gradients of deconvolution."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.convolution import deconvolution

__all__ = ["DeconvolutionDataGrad", "DeconvolutionFilterGrad"]


class DeconvolutionDataGrad(DataGrad, of="Deconvolution", forward=deconvolution):
    """The gradient of `deconvolution` with respect to `x`. A call takes dy and the kernels.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.deconvolution import DeconvolutionDataGrad
        >>> f = DeconvolutionDataGrad(None)
        >>> f.xshape = (2, 3, 6)
        >>> f(nn.Variable((2, 4, 8)), nn.Variable((3, 4, 3))).shape
        (2, 3, 6)
    """


class DeconvolutionFilterGrad(FilterGrad, of="Deconvolution", forward=deconvolution):
    """The gradient of `deconvolution` with respect to the kernels. A call takes dy and `x`.

    Attributes:
        wshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.deconvolution import DeconvolutionFilterGrad
        >>> f = DeconvolutionFilterGrad(None)
        >>> f.wshape = (3, 4, 3)
        >>> f(nn.Variable((2, 4, 8)), nn.Variable((2, 3, 6))).shape
        (3, 4, 3)
    """
