"""The gradient of slicing."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.indexing import slice

__all__ = ["SliceDataGrad"]


class SliceDataGrad(DataGrad, of="Slice", forward=slice):
    """The gradient of `slice` with respect to `x`. A call takes dy.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.slice import SliceDataGrad
        >>> f = SliceDataGrad(None, (0, 0), (2, 3), (1, 1))
        >>> f.xshape = (4, 3)
        >>> f(nn.Variable((2, 3))).shape
        (4, 3)
    """
