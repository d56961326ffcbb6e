"""The gradient of global average pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import global_average_pooling

__all__ = ["GlobalAveragePoolingDataGrad"]


class GlobalAveragePoolingDataGrad(
    DataGrad, of="GlobalAveragePooling", forward=global_average_pooling, example=("", (2, 3, 4, 4), (2, 3, 1, 1))
):
    """The gradient of `global_average_pooling` with respect to `x`. A call takes dy."""
