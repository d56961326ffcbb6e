"""The gradient of sum pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import sum_pooling

__all__ = ["SumPoolingDataGrad"]


class SumPoolingDataGrad(
    DataGrad,
    of="SumPooling",
    forward=sum_pooling,
    ignored=("including_pad",),
    example=("(2, 2)", (1, 1, 4, 4), (1, 1, 2, 2)),
):
    """The gradient of `sum_pooling` with respect to `x`. A call takes dy."""
