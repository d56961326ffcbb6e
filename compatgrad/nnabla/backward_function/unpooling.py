"""The gradient of unpooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import unpooling

__all__ = ["UnpoolingDataGrad"]


class UnpoolingDataGrad(DataGrad, of="Unpooling", forward=unpooling):
    """The gradient of `unpooling` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.unpooling import UnpoolingDataGrad
        >>> f = UnpoolingDataGrad(None, (2, 2))
        >>> f.xshape = (2, 3)
        >>> f(nn.Variable((4, 6))).shape
        (2, 3)
    """
