"""The gradient of global average pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import global_average_pooling

__all__ = ["GlobalAveragePoolingDataGrad"]


class GlobalAveragePoolingDataGrad(DataGrad, of="GlobalAveragePooling", forward=global_average_pooling):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
