"""The gradient of transposition."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.arrays import transpose

__all__ = ["TransposeDataGrad"]


class TransposeDataGrad(DataGrad, of="Transpose", forward=transpose, example=("(1, 0)", (2, 3), (3, 2))):
    """The gradient of `transpose` with respect to `x`. A call takes dy."""
