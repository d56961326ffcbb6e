"""The gradient of embed."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import FilterGrad
from compatgrad.nnabla.functions.layers import embed

__all__ = ["EmbedFilterGrad"]


class EmbedFilterGrad(FilterGrad, of="Embed", forward=embed, ignored=("base_axis",)):
    """The gradient of `embed` with respect to the table. A call takes dy and `x0`.

    Attributes:
        wshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.embed import EmbedFilterGrad
        >>> f = EmbedFilterGrad(None)
        >>> f.wshape = (5, 2)
        >>> f(nn.Variable((3, 2)), nn.Variable((3,))).shape
        (5, 2)
    """
