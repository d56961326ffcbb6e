"""The gradient of slicing."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.indexing import slice

__all__ = ["SliceDataGrad"]


class SliceDataGrad(DataGrad, of="Slice", forward=slice):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
