"""The gradient of global average pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import global_average_pooling

__all__ = ["GlobalAveragePoolingDataGrad"]


class GlobalAveragePoolingDataGrad(DataGrad, of="GlobalAveragePooling", forward=global_average_pooling):
    """The gradient of `global_average_pooling` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.global_average_pooling import GlobalAveragePoolingDataGrad
        >>> f = GlobalAveragePoolingDataGrad(None)
        >>> f.xshape = (2, 3, 4, 4)
        >>> f(nn.Variable((2, 3, 1, 1))).shape
        (2, 3, 4, 4)
    """
