"""The gradient of embed."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import FilterGrad
from compatgrad.nnabla.functions.layers import embed

__all__ = ["EmbedFilterGrad"]


class EmbedFilterGrad(FilterGrad, of="Embed", forward=embed, ignored=("base_axis",)):
    """Called with dy and x0: the gradient of the table, whose shape must be set as `wshape` before."""
