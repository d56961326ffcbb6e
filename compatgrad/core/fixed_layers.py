"""Layers with fixed weights, for inference on a CPU: the weights are in the order in which a library reads them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from compatgrad import _C

__all__ = ["Convolution", "Dense", "Tiling", "affine", "available"]

_ACTIVATIONS = ("none", "relu", "hardtanh", "leaky_relu")
_MANY_ROWS = 64  # from so many rows on MKL multiplies by an ordered matrix faster than oneDNN


@cache
def _operators() -> dict[str, Callable[..., Any]]:
    """The operators of torch that run fused layers by oneDNN, and that order their weights; none without oneDNN."""
    if not torch.backends.mkldnn.is_available():
        return {}
    space = torch.ops.mkldnn
    try:
        return {
            "convolve": space._convolution_pointwise.default,
            "convolve and add": space._convolution_pointwise_.binary,
            "order filters": space._reorder_convolution_weight.default,
            "multiply": space._linear_pointwise.default,
            "order matrix": space._reorder_linear_weight.default,
        }
    except AttributeError:
        return {}


@cache
def _products() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The operators of torch that order a matrix for MKL, and multiply by it; None without MKL."""
    if not torch.backends.mkl.is_available():
        return None
    try:
        return torch.ops.mkl._mkl_reorder_linear_weight.default, torch.ops.mkl._mkl_linear.default
    except AttributeError:
        return None


def available() -> bool:
    """Whether this torch has oneDNN with its fused operators, and the program has not switched oneDNN off.

    Returns:
        Whether the layers of this module can be made.

    Example:
        >>> from compatgrad.core import fixed_layers
        >>> isinstance(fixed_layers.available(), bool)
        True

    Source: `compatgrad/core/fixed_layers.py`.
    """
    return torch._C._get_mkldnn_enabled() and bool(_operators())


@cache
def _points() -> torch.Tensor:
    """The matrix that transforms three numbers of a filter for `_C.convolve_tiles`: values of the polynomial at 0, the
    square roots of 1/2 and 2 with both signs, and infinity, divided by products of differences of these points.
    """
    half, two = math.sqrt(0.5), math.sqrt(2)
    points = [0.0, half, -half, two, -two]
    rows = []
    for p in points:
        product = math.prod(p - q for q in points if q != p)
        rows.append([1 / product, p / product, p * p / product])
    return torch.tensor([*rows, [0.0, 0.0, 1.0]], dtype=torch.float64)


def _transformed(weight: torch.Tensor) -> torch.Tensor:
    """Filters of 3 x 3 for `_C.convolve_tiles`, shape (36, input channels, channels)."""
    g = _points()
    return (
        torch.einsum("ai,bj,kcij->abck", g, g, weight.double()).float().reshape(36, *weight.shape[1::-1]).contiguous()
    )


def _gains(
    weight: torch.Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int,
    size: Sequence[int],
) -> bool:  # fmt: skip
    """Whether minimal filtering of tiles of 4 x 4 takes less time than oneDNN, by an estimate in nanoseconds."""
    maps, channels, *kernel = weight.shape
    same = {*stride, *dilation, groups} == {1} and padding[0] == padding[1] <= 1
    if kernel != [3, 3] or not same or maps % 16 or channels % 16:
        return False
    height, width = (n + 2 * padding[0] - 2 for n in size[2:])
    tiles = size[0] * -(-height // 4) * -(-width // 4)
    each = maps * channels
    products = max(tiles, 16) * each * 0.9 + each * 7.2  # 80 thousand million operations a second; the filters' bytes
    return products + tiles * (maps + channels) * 17 < 0.85 * size[0] * height * width * each * 0.157


class Convolution:
    """A convolution over two axes with a fixed weight, followed by a sum and an activation.

    Results have channels last in memory; inputs may have any order.

    Args:
        weight: float32, shape (channels, input channels / groups, height, width).
        bias: one number per channel, or None.
        stride, padding, dilation: two numbers each.
        groups: the number of groups of channels.
        size: the shape of the inputs for which the weight is ordered; others work, too.
        activation: "none", "relu", "hardtanh" or "leaky_relu".
        numbers: the ends of "hardtanh", or the slope of "leaky_relu".

    Raises:
        ValueError: the activation has another name.
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import Convolution
        >>> layer = Convolution(torch.ones(1, 1, 2, 2), None, (1, 1), (0, 0), (1, 1), 1, (1, 1, 2, 2), "relu")
        >>> layer(torch.full((1, 1, 2, 2), 0.5))
        tensor([[[[2.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """

    def __init__(
        self,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        groups: int,
        size: Sequence[int],
        activation: str = "none",
        numbers: Sequence[float] = (),
    ) -> None:
        if activation not in _ACTIVATIONS:
            raise ValueError(f"Convolution: activation: expected one of {_ACTIVATIONS}, got {activation!r}")
        place = list(padding), list(stride), list(dilation), groups
        if not available():
            raise RuntimeError("Convolution: torch has no oneDNN, or the program has switched it off")
        self._activation = (activation, list(numbers), "")
        self._filters = self._rows = None
        maps, channels, *kernel = weight.shape
        positions = zip(size[2:], padding, kernel, stride, strict=True)
        places = size[0] * math.prod((n + 2 * p - k) // s + 1 for n, p, k, s in positions)
        if {*dilation, groups} == {1} and _C.rows_gain(places, maps, channels, math.prod(kernel)):
            self._rows = weight.permute(0, 2, 3, 1).reshape(maps, -1).contiguous()
            self._bias, self._place = bias, (*kernel, *stride, *padding)
            return
        if _gains(weight, stride, padding, dilation, groups, size):
            self._filters = _transformed(weight)
            self._bias, self._pad = bias, padding[0]
            return
        self._convolve, self._add = _operators()["convolve"], _operators()["convolve and add"]
        packed = _operators()["order filters"](weight.contiguous(), *place, list(size))
        self._after = (packed, bias, *place)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        name, numbers, _ = self._activation
        if self._rows is not None:
            y = _C.convolve_rows(x, self._rows, self._bias, None, name == "relu", *self._place)
        elif self._filters is not None:
            y = _C.convolve_tiles(x, self._filters, self._bias, self._pad, None, name == "relu")
        else:
            result: torch.Tensor = self._convolve(x, *self._after, *self._activation)
            return result
        if name == "hardtanh":
            y.clamp_(*numbers)
        elif name == "leaky_relu":
            torch.nn.functional.leaky_relu_(y, *numbers)
        return y

    def add_to(self, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Overwrites y by activation(y + convolution of x), where the activation is "none" or "relu". The result is y,
        unless y's memory has another order.
        """
        y = y.contiguous(memory_format=torch.channels_last)
        name = "relu" if self._activation[0] == "relu" else None
        if self._rows is not None:
            return _C.convolve_rows(x, self._rows, self._bias, y, name == "relu", *self._place)
        if self._filters is not None:
            return _C.convolve_tiles(x, self._filters, self._bias, self._pad, y, name == "relu")
        total: torch.Tensor = self._add(y, x, *self._after, "add", 1.0, name, [], "")
        return total


class Dense:
    """x @ weight.T + bias with a fixed weight, then relu if `rectify`; x has the shape (rows, inputs).

    Args:
        weight: float32, shape (outputs, inputs).
        bias: one number per output, or None.
        rows: the number of rows for which the weight is ordered; others work, too.
        rectify: whether negative results become 0.

    Raises:
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import Dense
        >>> Dense(torch.ones(1, 2), None, 1, rectify=False)(torch.tensor([[1.0, 2.0]]))
        tensor([[3.]])

    Source: `compatgrad/core/fixed_layers.py`.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, rows: int, rectify: bool) -> None:
        if not available():
            raise RuntimeError("Dense: torch has no oneDNN, or the program has switched it off")
        products = _products()
        self._after: tuple[Any, ...]
        self._rectify = False  # whether relu must follow the product; oneDNN applies it within the product
        if products is not None and rows >= _MANY_ROWS and _C.rows_gain(rows, weight.shape[0], weight.shape[1], 1):
            order, self._multiply = products
            self._after, self._rectify = (order(weight, rows), weight, bias, rows), rectify
            return
        self._multiply = _operators()["multiply"]
        packed = _operators()["order matrix"](weight, rows)
        self._after = (packed, bias, "relu" if rectify else "none", [], "")

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self._multiply(x, *self._after)
        return y.relu_() if self._rectify else y


class Tiling:
    """A transposed convolution whose windows touch and do not overlap, with a fixed weight, then relu if `rectify`.

    Each number of the input becomes a window of the result: one product of matrices. Results have channels last in
    memory; inputs may have any order.

    Args:
        weight: float32, shape (input channels, channels, height, width), also the strides.
        bias: one number per channel, or None.
        places: batch times height times width of the inputs for which the weight is ordered; others work, too.
        rectify: whether negative results become 0.

    Raises:
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import Tiling
        >>> Tiling(torch.ones(1, 1, 1, 2), None, 2, rectify=False)(torch.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, places: int, rectify: bool) -> None:
        self._window = weight.shape[2:]
        rows = weight.permute(2, 3, 1, 0).reshape(-1, weight.shape[0])
        spread = None if bias is None else bias.repeat(self._window.numel())
        self._product = Dense(rows.contiguous(), spread, places, rectify)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        n, channels, height, width = x.shape
        windows = self._product(x.permute(0, 2, 3, 1).reshape(-1, channels)).view(n, height, width, *self._window, -1)
        down, across = self._window
        return windows.transpose(2, 3).reshape(n, height * down, width * across, -1).permute(0, 3, 1, 2)


def affine(x: torch.Tensor, factor: torch.Tensor, addend: torch.Tensor, rectify: bool) -> torch.Tensor:
    """x * factor + addend, then relu if `rectify`.

    Args:
        x: float32, shape (batch, channels, height, width).
        factor, addend: float32, shape (1, channels, 1, 1).
        rectify: whether negative results become 0.

    Returns:
        A new tensor of x's shape.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import affine
        >>> one = torch.ones(1, 1, 1, 1)
        >>> affine(torch.tensor([[[[-3.0, 1.0]]]]), one * 2, one, rectify=True)
        tensor([[[[0., 3.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    y = torch.addcmul(addend, x, factor)
    return y.relu_() if rectify else y
