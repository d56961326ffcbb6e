"""The gradient of average pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import average_pooling

__all__ = ["AveragePoolingDataGrad"]


class AveragePoolingDataGrad(DataGrad, of="AveragePooling", forward=average_pooling):
    """The gradient of `average_pooling` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.average_pooling import AveragePoolingDataGrad
        >>> f = AveragePoolingDataGrad(None, (2, 2))
        >>> f.xshape = (1, 1, 4, 4)
        >>> f(nn.Variable((1, 1, 2, 2))).shape
        (1, 1, 4, 4)
    """
