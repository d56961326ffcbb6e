"""The gradient of embed."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import FilterGrad
from compatgrad.nnabla.functions.layers import embed

__all__ = ["EmbedFilterGrad"]


class EmbedFilterGrad(
    FilterGrad, of="Embed", forward=embed, ignored=("base_axis",), example=("", (5, 2), (3, 2), (3,))
):
    """The gradient of `embed` with respect to the table. A call takes dy and `x0`."""
