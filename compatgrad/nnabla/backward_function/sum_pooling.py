"""The gradient of sum pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import sum_pooling

__all__ = ["SumPoolingDataGrad"]


class SumPoolingDataGrad(DataGrad, of="SumPooling", forward=sum_pooling, ignored=("including_pad",)):
    """The gradient of `sum_pooling` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.sum_pooling import SumPoolingDataGrad
        >>> f = SumPoolingDataGrad(None, (2, 2))
        >>> f.xshape = (1, 1, 4, 4)
        >>> f(nn.Variable((1, 1, 2, 2))).shape
        (1, 1, 4, 4)
    """
