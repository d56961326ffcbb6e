"""The gradient of unpooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import unpooling

__all__ = ["UnpoolingDataGrad"]


class UnpoolingDataGrad(DataGrad, of="Unpooling", forward=unpooling):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
