"""Operators on the order of elements: sorting, the largest ones, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..base import MXNetError
from ._arguments import axis_in, one_of, public_names
from ._operator import op, operator
from .ndarray import NDArray, torch_dtype


def _ranked(name: str, data: NDArray, axis: int | None, is_ascend: bool) -> tuple[NDArray, int, torch.Tensor]:
    """The array (flattened where `axis` is None), the axis, and positions in order; equal elements as they are."""
    x = op.reshape(data, shape=(-1,)) if axis is None else data
    axis = axis_in(name, -1 if axis is None else axis, x.tensor.dim())
    return x, axis, torch.sort(x.tensor.detach(), dim=axis, descending=not is_ascend, stable=True)[1]


@operator("data", method=True)
def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """The k largest (`is_ascend`: smallest) elements along `axis`, in order; k < 1 means all of them.

    ret_typ: their positions as `dtype` ("indices"), the elements ("value"), a list of elements and positions
    ("both"), or an array like data with ones at them ("mask"). axis=None: of the flattened array. Elements are
    differentiable. MXNetError where k exceeds the axis.
    """
    one_of("topk", "ret_typ", ret_typ, ("both", "indices", "mask", "value"))
    x, axis, order = _ranked("topk", data, axis, is_ascend)
    n = x.shape[axis]
    if k > n:
        raise MXNetError(f"topk: k must not be larger than {n}, the size of the axis, got k={k}")
    index = order.narrow(axis, 0, k if k > 0 else n)
    if ret_typ == "mask":
        return NDArray(torch.zeros_like(x.tensor).scatter_(axis, index, 1).reshape(data.shape))
    places = None if ret_typ == "value" else NDArray(index.to(torch_dtype(dtype, "topk: dtype")))
    if ret_typ == "indices":
        return places
    values = op.gather_along(x, NDArray(index), axis=axis)
    return values if ret_typ == "value" else [values, places]


@operator("data", method=True)
def sort(data, axis=-1, is_ascend=True):
    """The elements in order along `axis`, or of the flattened array (axis=None)."""
    x, axis, order = _ranked("sort", data, axis, is_ascend)
    return op.gather_along(x, NDArray(order), axis=axis)


@operator("data", method=True)
def argsort(data, axis=-1, is_ascend=True, dtype="float32"):
    """The positions of the elements in order along `axis`, or of the flattened array (axis=None), as `dtype`."""
    return NDArray(_ranked("argsort", data, axis, is_ascend)[2].to(torch_dtype(dtype, "argsort: dtype")))


def histogram(a: NDArray, bins: Any = 10, range: tuple | None = None) -> list[NDArray]:  # noqa: A002
    """How many elements fall into each bin (int64), and the edges of the bins in a's dtype.

    bins: a number of bins of equal width over `range` (default: the extent of `a`), or an NDArray of edges.
    ValueError for anything else.
    """
    if isinstance(bins, NDArray):
        edges: Any = bins.asnumpy()
    elif isinstance(bins, (int, np.integer)):
        edges = int(bins)
    else:
        raise ValueError(f"bins argument should be either an integer or an NDArray, got {type(bins).__name__}")
    counts, edges = np.histogram(a.asnumpy(), bins=edges, range=range)
    device = a.tensor.device
    return [NDArray(torch.as_tensor(counts, dtype=torch.int64, device=device)),
            NDArray(torch.as_tensor(edges, device=device).to(a.tensor.dtype))]


__all__ = public_names(globals(), "histogram")
