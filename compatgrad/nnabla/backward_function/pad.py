"""The gradient of padding."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.arrays import pad

__all__ = ["PadDataGrad"]


class PadDataGrad(DataGrad, of="Pad", forward=pad, example=("(1, 1)", (2, 3), (2, 5))):
    """The gradient of `pad` with respect to `x`. A call takes dy."""
