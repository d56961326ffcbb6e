"""The gradient of unpooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import unpooling

__all__ = ["UnpoolingDataGrad"]


class UnpoolingDataGrad(DataGrad, of="Unpooling", forward=unpooling, example=("(2, 2)", (2, 3), (4, 6))):
    """The gradient of `unpooling` with respect to `x`. A call takes dy."""
