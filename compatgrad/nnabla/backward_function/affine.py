"""The gradients of affine."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.layers import affine

__all__ = ["AffineDataGrad", "AffineFilterGrad"]


class AffineDataGrad(DataGrad, of="Affine", forward=affine):
    """Called with dy and weight: the gradient of x, whose shape must be set as `xshape` before."""


class AffineFilterGrad(FilterGrad, of="Affine", forward=affine):
    """Called with dy and x: the gradient of weight, whose shape must be set as `wshape` before."""
