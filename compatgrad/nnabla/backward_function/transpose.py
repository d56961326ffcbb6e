"""The gradient of transposition."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.arrays import transpose

__all__ = ["TransposeDataGrad"]


class TransposeDataGrad(DataGrad, of="Transpose", forward=transpose):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
