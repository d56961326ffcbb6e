"""The gradients of affine."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad, FilterGrad
from compatgrad.nnabla.functions.layers import affine

__all__ = ["AffineDataGrad", "AffineFilterGrad"]


class AffineDataGrad(DataGrad, of="Affine", forward=affine, example=("", (2, 3), (2, 4), (3, 4))):
    """The gradient of `affine` with respect to `x`. A call takes dy and the weights."""


class AffineFilterGrad(FilterGrad, of="Affine", forward=affine, example=("", (3, 4), (2, 4), (2, 3))):
    """The gradient of `affine` with respect to the weights. A call takes dy and `x`."""
