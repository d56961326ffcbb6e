"""The gradient of transposition."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.arrays import transpose

__all__ = ["TransposeDataGrad"]


class TransposeDataGrad(DataGrad, of="Transpose", forward=transpose):
    """The gradient of `transpose` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.transpose import TransposeDataGrad
        >>> f = TransposeDataGrad(None, (1, 0))
        >>> f.xshape = (2, 3)
        >>> f(nn.Variable((3, 2))).shape
        (2, 3)
    """
