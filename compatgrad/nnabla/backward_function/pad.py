"""The gradient of padding."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.arrays import pad

__all__ = ["PadDataGrad"]


class PadDataGrad(DataGrad, of="Pad", forward=pad):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
