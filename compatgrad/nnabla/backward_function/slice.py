"""The gradient of slicing."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.indexing import slice

__all__ = ["SliceDataGrad"]


class SliceDataGrad(DataGrad, of="Slice", forward=slice, example=("(0, 0), (2, 3), (1, 1)", (4, 3), (2, 3))):
    """The gradient of `slice` with respect to `x`. A call takes dy."""
