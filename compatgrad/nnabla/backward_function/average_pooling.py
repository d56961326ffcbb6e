"""The gradient of average pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import average_pooling

__all__ = ["AveragePoolingDataGrad"]


class AveragePoolingDataGrad(DataGrad, of="AveragePooling", forward=average_pooling):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
