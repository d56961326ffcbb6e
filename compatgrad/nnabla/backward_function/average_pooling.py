"""The gradient of average pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import average_pooling

__all__ = ["AveragePoolingDataGrad"]


class AveragePoolingDataGrad(
    DataGrad, of="AveragePooling", forward=average_pooling, example=("(2, 2)", (1, 1, 4, 4), (1, 1, 2, 2))
):
    """The gradient of `average_pooling` with respect to `x`. A call takes dy."""
