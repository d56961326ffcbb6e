"""The gradient of sum pooling."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import DataGrad
from compatgrad.nnabla.functions.pooling import sum_pooling

__all__ = ["SumPoolingDataGrad"]


class SumPoolingDataGrad(DataGrad, of="SumPooling", forward=sum_pooling, ignored=("including_pad",)):
    """Called with dy: the gradient of x, whose shape must be set as `xshape` before."""
