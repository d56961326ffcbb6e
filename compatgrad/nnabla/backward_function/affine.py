"""The gradients of affine."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.layers import affine

__all__ = ["AffineDataGrad", "AffineFilterGrad"]


class AffineDataGrad(DataGrad, of="Affine", forward=affine):
    """The gradient of `affine` with respect to `x`. A call takes dy and the weights.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.affine import AffineDataGrad
        >>> f = AffineDataGrad(None)
        >>> f.xshape = (2, 3)
        >>> f(nn.Variable((2, 4)), nn.Variable((3, 4))).shape
        (2, 3)
    """


class AffineFilterGrad(FilterGrad, of="Affine", forward=affine):
    """The gradient of `affine` with respect to the weights. A call takes dy and `x`.

    Attributes:
        wshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.affine import AffineFilterGrad
        >>> f = AffineFilterGrad(None)
        >>> f.wshape = (3, 4)
        >>> f(nn.Variable((2, 4)), nn.Variable((2, 3))).shape
        (3, 4)
    """
