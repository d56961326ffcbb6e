"""Layers with fixed weights, for inference on a CPU: the weights are in the order in which a library reads them.

A layer is a step of a program (`_C.program`): a function of tensors, which Python can call, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from compatgrad import _C

__all__ = [
    "Before",
    "affine",
    "available",
    "convolution",
    "dense",
    "dense_of_array",
    "is_direct",
    "is_direct_product",
    "keeps_nan",
    "max_pool",
    "tiling",
]

_ACTIVATIONS = ("none", "relu", "hardtanh", "leaky_relu")
_BLOCK = 16  # channels of a block: max pooling of images with channels last then takes a third of torch's time
_MANY_ROWS = 64  # from so many rows on MKL multiplies by an ordered matrix faster than oneDNN


@cache
def _operators() -> dict[str, Callable[..., Any]]:
    """The operators of torch that order weights for oneDNN; none without oneDNN and its fused operators."""
    if not torch.backends.mkldnn.is_available():
        return {}
    space = torch.ops.mkldnn
    try:
        for fused in (space._convolution_pointwise.default, space._convolution_pointwise_.binary):
            assert fused
        assert space._linear_pointwise.default
        return {
            "order filters": space._reorder_convolution_weight.default,
            "order matrix": space._reorder_linear_weight.default,
        }
    except AttributeError:
        return {}


@cache
def _order_for_mkl() -> Callable[..., Any] | None:
    """The operator of torch that orders a matrix for MKL; None without MKL."""
    if not torch.backends.mkl.is_available():
        return None
    try:
        assert torch.ops.mkl._mkl_linear.default
        return torch.ops.mkl._mkl_reorder_linear_weight.default
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
    """The matrix that transforms three numbers of a filter for `_C.tiles_step`: values of the polynomial at 0, the
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
    """Filters of 3 x 3 for `_C.tiles_step`, shape (36, input channels, channels)."""
    g = _points()
    return (
        torch.einsum("ai,bj,kcij->abck", g, g, weight.double()).float().reshape(36, *weight.shape[1::-1]).contiguous()
    )


_Place = tuple[Sequence[int], Sequence[int], Sequence[int], int]
_PIXELS: _Place = (1, 1), (0, 0), (1, 1), 1  # of filters of one pixel


class Before(NamedTuple):
    """What is done to images before a convolution reads them: x * factor + addend, then relu if `rectify`.

    Args:
        factor, addend: float32, one number per channel.
        rectify: whether negative numbers become 0. NaN stays.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import Before
        >>> Before(torch.ones(3), torch.zeros(3), rectify=True).rectify
        True

    Source: `compatgrad/core/fixed_layers.py`.
    """

    factor: torch.Tensor | None
    addend: torch.Tensor | None
    rectify: bool


def _way(weight: Sequence[int], place: _Place, size: Sequence[int]) -> str:
    """How a convolution is computed: "direct", "rows", "tiles" or "oneDNN"."""
    return _C.fixed_way(weight, *place, size)


def is_direct(weight: torch.Tensor, place: _Place, size: Sequence[int]) -> bool:
    """Whether `convolution` makes a layer that accepts `before`.

    Args:
        weight, place, size: as for `convolution`.

    Returns:
        Whether compatgrad's own loops compute it, and it has no groups.

    Raises:
        Nothing.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import is_direct
        >>> is_direct(torch.ones(4, 2, 1, 1), ((1, 1), (0, 0), (1, 1), 2), (1, 4, 5, 5))
        False

    Source: `compatgrad/core/fixed_layers.py`.
    """
    return _way(weight.shape, place, size) == "direct" and place[-1] == 1


def keeps_nan(weight: torch.Tensor, place: _Place, size: Sequence[int]) -> bool:
    """Whether an activation in the layer that `convolution` makes keeps NaN, of which oneDNN's makes a number.

    Args:
        weight, place, size: as for `convolution`.

    Returns:
        Whether something else than oneDNN computes it.

    Raises:
        Nothing.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import keeps_nan
        >>> keeps_nan(torch.ones(4, 2, 3, 3), ((1, 1), (0, 0), (1, 1), 2), (1, 4, 5, 5))
        False

    Source: `compatgrad/core/fixed_layers.py`.
    """
    return _way(weight.shape, place, size) != "oneDNN"


def convolution(
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    place: _Place,
    size: Sequence[int],
    activation: str = "none",
    numbers: Sequence[float] = (),
    overwrite: bool | None = None,
    before: Before | None = None,
) -> _C.Step:
    """A convolution over two axes with a fixed weight, followed by a sum and an activation.

    Results have channels last in memory; inputs may have any order.

    Args:
        weight: float32, shape (channels, input channels / groups, height, width).
        bias: one number per channel, or None.
        place: strides, padding and dilation, two numbers each, and the number of groups of channels.
        size: the shape of the inputs for which the weight is ordered; others work, too.
        activation: "none", "relu", "hardtanh" or "leaky_relu".
        numbers: the ends of "hardtanh", or the slope of "leaky_relu".
        overwrite: None, or the layer takes an array of the result's shape before x, to which the convolution is added.
            If True, the result may be in its memory; the activation is "none" or "relu" then.
        before: what is done to the images; only if `is_direct`.

    Returns:
        The layer: a function of x, or of an array to add and x.

    Raises:
        ValueError: the activation has another name.
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import convolution
        >>> layer = convolution(torch.ones(1, 1, 2, 2), None, ((1, 1), (0, 0), (1, 1), 1), (1, 1, 2, 2), "relu")
        >>> layer(torch.full((1, 1, 2, 2), 0.5))
        tensor([[[[2.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    if activation not in _ACTIVATIONS:
        raise ValueError(f"convolution: activation: expected one of {_ACTIVATIONS}, got {activation!r}")
    if not available():
        raise RuntimeError("convolution: torch has no oneDNN, or the program has switched it off")
    way, add, rectify = _way(weight.shape, place, size), overwrite is not None, activation == "relu"
    stride, padding, dilation, groups = place
    if way == "direct":
        change = before or Before(None, None, False)
        moves = (*stride, *padding, *dilation)
        return _C.direct_step(weight, bias, *change, moves, groups > 1, overwrite, activation, numbers)
    maps, _, *kernel = weight.shape
    if way == "oneDNN":
        if _C.holds_window(kernel, padding, dilation):
            raise ValueError(f"convolution: oneDNN: windows {kernel} may lie in the padding {list(padding)} alone")
        onednn = [list(n) for n in (padding, stride, dilation)]
        packed = _operators()["order filters"](weight.contiguous(), *onednn, groups, list(size))
        after = (packed, bias, *onednn, groups)
        if not add:
            arguments = (..., *after, activation, list(numbers), "")
            return _C.torch_step("mkldnn::_convolution_pointwise", "", arguments)
        sum_arguments = (..., ..., *after, "add", 1.0, "relu" if rectify else None, [], "")
        layer = _C.torch_step("mkldnn::_convolution_pointwise_", "binary", sum_arguments)
    elif way == "rows":
        rows = weight.permute(0, 2, 3, 1).reshape(maps, -1).contiguous()
        layer = _C.rows_step(rows, bias, (*kernel, *stride, *padding), add, rectify)
    else:
        layer = _C.tiles_step(_transformed(weight), bias, padding[0], add, rectify)
    if add:
        return _C.channels_last_step(layer, not overwrite)
    if way == "oneDNN" or activation in ("none", "relu"):
        return layer
    after_name = "aten::hardtanh_" if activation == "hardtanh" else "aten::leaky_relu_"
    return _C.chain_step([layer, _C.torch_step(after_name, "", (..., *numbers))])


def dense(weight: torch.Tensor, bias: torch.Tensor | None, rows: int, rectify: bool) -> _C.Step:
    """x @ weight.T + bias with a fixed weight, then relu if `rectify`; x has the shape (rows, inputs).

    Args:
        weight: float32, shape (outputs, inputs).
        bias: one number per output, or None.
        rows: the number of rows for which the weight is ordered; others work, too.
        rectify: whether negative results become 0.

    Returns:
        The layer: a function of x.

    Raises:
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import dense
        >>> dense(torch.ones(1, 2), None, 1, rectify=False)(torch.tensor([[1.0, 2.0]]))
        tensor([[3.]])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    if not available():
        raise RuntimeError("dense: torch has no oneDNN, or the program has switched it off")
    order = _order_for_mkl()
    if _by_mkl(weight, rows) and order is not None:
        layer = _C.torch_step("mkl::_mkl_linear", "", (..., order(weight, rows), weight, bias, rows))
        return _C.chain_step([layer, _C.torch_step("aten::relu_", "", (...,))]) if rectify else layer
    if is_direct_product(weight, rows):
        pixels = (rows, weight.shape[1], 1, 1)
        return convolution(weight[:, :, None, None], bias, _PIXELS, pixels, "relu" if rectify else "none")
    packed = _operators()["order matrix"](weight, rows)
    return _C.torch_step("mkldnn::_linear_pointwise", "", (..., packed, bias, "relu" if rectify else "none", [], ""))


def dense_of_array(
    weight: torch.Tensor, bias: torch.Tensor | None, x: torch.Tensor, flat: bool, rectify: bool
) -> _C.Step:
    """`dense` for arrays with more axes than two: a row is the last axis, or all axes but the first.

    Args:
        weight, bias, rectify: as for `dense`.
        x: an array of the shape and the order of axes in memory for which the layer is made.
        flat: whether all axes but the first are one row.

    Returns:
        The layer: a function of x.

    Raises:
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import dense_of_array
        >>> x = torch.ones(2, 3, 4)
        >>> dense_of_array(torch.ones(5, 4), None, x, flat=False, rectify=False)(x).shape
        torch.Size([2, 3, 5])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    rows = x.shape[0] if flat else x.shape[:-1].numel()
    # For images with channels last the weight is put in the same order, so that the images need no copy. Images with
    # one channel or one pixel are contiguous in both orders, and need no change of the weight.
    last = flat and x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    if last:
        weight = weight.unflatten(1, x.shape[1:]).permute(0, 2, 3, 1).flatten(1)
    steps = [dense(weight.contiguous(), bias, rows, rectify)]
    if not flat:
        view = _C.torch_step("aten::view", "", (..., (*x.shape[:-1], -1)))
        steps = [_C.torch_step("aten::reshape", "", (..., (-1, x.shape[-1]))), *steps, view]
    elif x.dim() != 2:
        steps.insert(0, _C.torch_step("aten::reshape", "", (..., (rows, -1))))
    if last:
        steps.insert(0, _C.torch_step("aten::permute", "", (..., (0, 2, 3, 1))))
    return _C.chain_step(steps)


def _by_mkl(weight: torch.Tensor, rows: int) -> bool:
    many = rows >= _MANY_ROWS and _C.rows_gain(rows, weight.shape[0], weight.shape[1], 1)
    return many and _order_for_mkl() is not None


def is_direct_product(weight: torch.Tensor, rows: int) -> bool:
    """Whether `dense` makes a layer that compatgrad's own loops compute.

    Args:
        weight, rows: as for `dense`.

    Returns:
        Whether they do. Then relu in the layer keeps NaN, of which oneDNN's makes a number.

    Raises:
        Nothing.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import is_direct_product
        >>> is_direct_product(torch.ones(2, 3), 10**9)
        False

    Source: `compatgrad/core/fixed_layers.py`.
    """
    pixels = (rows, weight.shape[1], 1, 1)
    return not _by_mkl(weight, rows) and _way((*weight.shape, 1, 1), _PIXELS, pixels) == "direct"


def tiling(weight: torch.Tensor, bias: torch.Tensor | None, size: Sequence[int], rectify: bool) -> _C.Step:
    """A transposed convolution whose windows touch and do not overlap, with a fixed weight, then relu if `rectify`.

    Each number of the input becomes a window of the result: one product of matrices. Results have channels last in
    memory; inputs may have any order.

    Args:
        weight: float32, shape (input channels, channels, height, width), also the strides.
        bias: one number per channel, or None.
        size: the shape of the inputs.
        rectify: whether negative results become 0.

    Returns:
        The layer: a function of x.

    Raises:
        RuntimeError: torch has no oneDNN.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import tiling
        >>> tiling(torch.ones(1, 1, 1, 2), None, (1, 1, 1, 2), rectify=False)(torch.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    n, channels, height, width = size
    maps, down, across = weight.shape[1:]
    rows = weight.permute(2, 3, 1, 0).reshape(-1, channels)
    spread = None if bias is None else bias.repeat(down * across)
    return _C.chain_step([
        _C.torch_step("aten::permute", "", (..., (0, 2, 3, 1))),
        _C.torch_step("aten::reshape", "", (..., (-1, channels))),
        dense(rows.contiguous(), spread, n * height * width, rectify),
        _C.torch_step("aten::view", "", (..., (n, height, width, down, across, maps))),
        _C.torch_step("aten::transpose", "int", (..., 2, 3)),
        _C.torch_step("aten::reshape", "", (..., (n, height * down, width * across, maps))),
        _C.torch_step("aten::permute", "", (..., (0, 3, 1, 2))),
    ])  # fmt: skip


def affine(factor: torch.Tensor, addend: torch.Tensor, rectify: bool) -> _C.Step:
    """x * factor + addend, then relu if `rectify`.

    Args:
        factor, addend: float32, of shapes that are broadcast to that of x.
        rectify: whether negative results become 0. NaN stays.

    Returns:
        The layer: a function of x, whose result is a new tensor of x's shape.

    Raises:
        RuntimeError: torch has no such operators.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import affine
        >>> one = torch.ones(1, 1, 1, 1)
        >>> affine(one * 2, one, rectify=True)(torch.tensor([[[[-3.0, 1.0]]]]))
        tensor([[[[0., 3.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    layer = _C.torch_step("aten::addcmul", "", (addend, ..., factor))
    return _C.chain_step([layer, _C.torch_step("aten::relu_", "", (...,))]) if rectify else layer


def max_pool(x: torch.Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]) -> _C.Step:
    """The maxima of windows of images.

    Args:
        x: images (n, channels, height, width), of the shape and the order of axes in memory that the layer is made for.
        kernel, stride, padding: two numbers each; no padding is longer than half a window.

    Returns:
        The layer: a function of x. Its results have the order of axes of x.

    Raises:
        Nothing.

    Example:
        >>> import torch
        >>> from compatgrad.core.fixed_layers import max_pool
        >>> max_pool(torch.ones(1, 1, 2, 2), (2, 2), (2, 2), (0, 0))(torch.arange(4.0).view(1, 1, 2, 2))
        tensor([[[[3.]]]])

    Source: `compatgrad/core/fixed_layers.py`.
    """
    if x.is_contiguous(memory_format=torch.channels_last) and x.shape[1] % _BLOCK == 0:
        return _C.channels_last_step(_C.max_pool_step((*kernel, *stride, *padding)), False)
    return _C.torch_step("aten::max_pool2d", "", (..., tuple(kernel), tuple(stride), tuple(padding)))
