"""The gradient of padding."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.arrays import pad

__all__ = ["PadDataGrad"]


class PadDataGrad(DataGrad, of="Pad", forward=pad):
    """The gradient of `pad` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.pad import PadDataGrad
        >>> f = PadDataGrad(None, (1, 1))
        >>> f.xshape = (2, 3)
        >>> f(nn.Variable((2, 5))).shape
        (2, 3)
    """
