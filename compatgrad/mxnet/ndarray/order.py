"""Operators that sort: sort, argsort, topk; and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from compatgrad.core import notes

from ..base import MXNetError
from ._arguments import axis_in, choice, constant, public_names
from ._operator import not_an_array, op, operator
from .ndarray import NDArray, torch_dtype


def _line(name: str, data: NDArray, axis: int | None) -> tuple[NDArray, int]:
    """The array, flattened where `axis` is None, and the axis."""
    if axis is None:
        return op.reshape(data, shape=(-1,)), 0
    return data, axis_in(name, axis, data.tensor.dim())


def _order(t: torch.Tensor, axis: int, is_ascend: bool) -> torch.Tensor:
    """The positions of elements in sorted order along an axis; equal elements keep their order."""
    return torch.sort(t, dim=axis, descending=not is_ascend, stable=True)[1]


@operator("data", method=True, outputs=lambda p: 2 if p["ret_typ"] == "both" else 1)
def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """The k largest (`is_ascend`: smallest) elements along `axis`, in order; k < 1 means all of them.

    ret_typ: their positions as `dtype` ("indices"), the elements ("value"), a list of elements and positions
    ("both"), or an array like data with ones at them ("mask"). axis=None: of the flattened array. Elements are
    differentiable. MXNetError if k exceeds the axis.

    Args:
        axis: the axis; None for the array as one row.
        k: how many; less than 1 is all.
        dtype: the dtype of the indices.

    Example:
        >>> nd.topk(nd.array([3.0, 1.0, 2.0]), k=2, ret_typ="value").asnumpy()
        array([3., 2.], dtype=float32)
        >>> nd.topk(nd.array([3.0, 1.0, 2.0]), k=2).asnumpy()
        array([0., 2.], dtype=float32)
    """
    choice("topk", "ret_typ", ret_typ)
    x, axis = _line("topk", data, axis)
    n = x.shape[axis]
    if k > n:
        raise MXNetError(f"topk: k must not be larger than {n}, the size of the axis, got k={k}")
    index = op.partial_argsort(x, k=k if k > 0 else n, axis=axis, reverse=not is_ascend).tensor
    if ret_typ == "mask":
        return constant(torch.zeros_like(x.tensor).scatter_(axis, index, 1).reshape(data.shape), data)
    places = None if ret_typ == "value" else constant(index.to(torch_dtype(dtype, "topk: dtype")), data)
    if ret_typ == "indices":
        return places
    values = op.gather_along(x, NDArray(index), axis=axis)
    return values if ret_typ == "value" else [values, places]


@operator("data", method=True)
def sort(data, axis=-1, is_ascend=True):
    """The elements in order along `axis`, or of the flattened array (axis=None).

    Args:
        axis: the axis; None for the array as one row.

    Example:
        >>> nd.sort(nd.array([3.0, 1.0, 2.0])).asnumpy()
        array([1., 2., 3.], dtype=float32)
    """
    x, axis = _line("sort", data, axis)
    return op.gather_along(x, NDArray(_order(x.tensor, axis, is_ascend)), axis=axis)


@operator("data", method=True)
def argsort(data, axis=-1, is_ascend=True, dtype="float32"):
    """The positions of the elements in order along `axis`, or of the flattened array (axis=None), as `dtype`.

    Args:
        axis: the axis; None for the array as one row.
        dtype: the dtype of the result.

    Returns:
        Places, of `dtype`.

    Example:
        >>> nd.argsort(nd.array([3.0, 1.0, 2.0])).asnumpy()
        array([1., 2., 0.], dtype=float32)
    """
    x, axis = _line("argsort", data, axis)
    return constant(_order(x.tensor, axis, is_ascend).to(torch_dtype(dtype, "argsort: dtype")), data)


def histogram(
    a: NDArray,
    bins: int | NDArray = 10,
    range: tuple[float, float] | None = None,
) -> list[NDArray]:
    """Counts the elements in each bin.

    Args:
        a: any shape, a real dtype.
        bins: the number of bins of equal width, or an NDArray of their ends, ascending.
        range: the ends of all bins together, where `bins` is a number; None is the least and the largest element.

    Returns:
        A list: the counts, int64, shape (bins,), and the ends of the bins, in the dtype of `a`, shape (bins + 1,).

    Raises:
        ValueError: `bins` is neither, not positive or not ascending; `range` is empty.
        AssertionError: `a` is no NDArray.

    Example:
        >>> counts, ends = nd.histogram(nd.array([1.0, 2.0, 2.5]), bins=2, range=(1, 3))
        >>> counts.asnumpy(), ends.asnumpy()
        (array([1, 2]), array([1., 2., 3.], dtype=float32))

    Source: `mxnet.nd.histogram` of MXNet 1.9.1.
    """
    if not isinstance(a, NDArray):
        raise not_an_array("histogram", "a", a)
    if isinstance(bins, NDArray):
        edges: Any = bins.asnumpy()
    elif isinstance(bins, (int, np.integer)):
        edges = int(bins)
    else:
        raise ValueError(f"bins argument should be either an integer or an NDArray, got {type(bins).__name__}")
    if notes.listener is not None:
        notes.listener("numpy", "histogram")
    counts, edges = np.histogram(a.asnumpy(), bins=edges, range=range)
    device = a.tensor.device
    return [
        NDArray(torch.as_tensor(counts, dtype=torch.int64, device=device)),
        NDArray(torch.as_tensor(edges, device=device).to(a.tensor.dtype)),
    ]


@operator("data, bins?", outputs=2)
def _histogram(data, bins=None, bin_cnt=None, range=None):
    """The numbers of elements between `bins`, or in `bin_cnt` bins of equal width over `range`; and the bins' ends.

    Returns:
        A list of the counts, int64, and the ends of the bins.

    Example:
        >>> counts, ends = nd.histogram(nd.array([0.1, 0.2, 0.9]), bins=2, range=(0.0, 1.0))
        >>> counts.asnumpy()
        array([2, 1])
    """
    return histogram(data, bin_cnt if bins is None else bins, range)


__all__ = public_names(globals(), "histogram")
