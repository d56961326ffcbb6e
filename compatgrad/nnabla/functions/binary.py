"""Layers whose weights are quantized: to two values, or step by step to powers of two."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions.convolution import on_images, placement
from compatgrad.nnabla.random import generator_of

__all__ = [
    "binary_connect_affine",
    "binary_connect_convolution",
    "binary_weight_affine",
    "binary_weight_convolution",
    "inq_affine",
    "inq_convolution",
]


def _check_like(name: str, what: str, v: Any, weight: Any) -> None:
    if tuple(v.shape) != tuple(weight.shape):
        raise RuntimeError(f"{name}: {what} must have the shape of weight, {tuple(weight.shape)}, not {tuple(v.shape)}")


def _check_alpha(name: str, alpha: Any, size: int) -> None:
    if prod(alpha.shape) != size:
        raise RuntimeError(f"{name}: alpha must have {size} elements, not shape {tuple(alpha.shape)}")


def _convolution(x: Any, w: Any, bias: Any, base_axis: int, pad: Any, stride: Any, dilation: Any, group: int) -> Any:
    return on_images(
        lambda image: op.convolution(image, w, bias, stride=stride, pad=pad, dilate=dilation, groups=group),
        x,
        base_axis,
        False,
    )


# ---- two values ----
@function("BinaryConnectAffine", "x, weight, binary_weight, bias?", effects=True)
def binary_connect_affine(x, weight, binary_weight, bias=None, base_axis=1, quantize_zero_to=1.0):
    """`affine` with the signs of `weight`, which are written into `binary_weight`.

    binary_weight has the shape of weight. 0 becomes `quantize_zero_to`. The gradient by the signs is given to
    weight; binary_weight gets none. RuntimeError where shapes do not fit.
    """
    _check_like("binary_connect_affine", "binary_weight", binary_weight, weight)
    w = op.binary_weights(weight, binary_weight, quantize_zero_to=quantize_zero_to)
    return op.affine(x, w, bias, base_axis=base_axis)


@function("BinaryConnectConvolution", "x, weight, binary_weight, bias?", effects=True)
def _binary_connect_convolution(
    x,
    weight,
    binary_weight,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    quantize_zero_to=1.0,
):
    _check_like("binary_connect_convolution", "binary_weight", binary_weight, weight)
    w = op.binary_weights(weight, binary_weight, quantize_zero_to=quantize_zero_to)
    return _convolution(x, w, bias, base_axis, pad, stride, dilation, group)


def binary_connect_convolution(
    x,
    weight,
    binary_weight,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    quantize_zero_to=1.0,
    **more,
):
    """`convolution` with the signs of `weight`, which are written into `binary_weight`.

    See `binary_connect_affine` and `convolution`.
    """
    return _binary_connect_convolution(
        x,
        weight,
        binary_weight,
        bias,
        base_axis,
        *placement(x, base_axis, pad, stride, dilation),
        group,
        quantize_zero_to,
        **more,
    )


@function("BinaryWeightAffine", "x, weight, binary_weight, alpha, bias?", effects=True)
def binary_weight_affine(x, weight, binary_weight, alpha, bias=None, base_axis=1, quantize_zero_to=1.0):
    """`affine` with the signs of `weight`, those of each output times their mean absolute value.

    The signs are written into binary_weight, of the shape of weight; the means into alpha, which has one
    element for each output. 0 becomes `quantize_zero_to`. The gradient by the scaled signs is given to
    weight; binary_weight and alpha get none. RuntimeError where shapes do not fit.
    """
    _check_like("binary_weight_affine", "binary_weight", binary_weight, weight)
    _check_alpha("binary_weight_affine", alpha, prod(weight.shape[1:]))
    w = op.binary_weights(weight, binary_weight, alpha, quantize_zero_to=quantize_zero_to, axis=(0,))
    return op.affine(x, w, bias, base_axis=base_axis)


@function("BinaryWeightConvolution", "x, weight, binary_weight, alpha, bias?", effects=True)
def _binary_weight_convolution(
    x,
    weight,
    binary_weight,
    alpha,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    quantize_zero_to=1.0,
):
    _check_like("binary_weight_convolution", "binary_weight", binary_weight, weight)
    _check_alpha("binary_weight_convolution", alpha, weight.shape[0])
    w = op.binary_weights(
        weight, binary_weight, alpha, quantize_zero_to=quantize_zero_to, axis=tuple(range(1, weight.ndim))
    )
    return _convolution(x, w, bias, base_axis, pad, stride, dilation, group)


def binary_weight_convolution(
    x,
    weight,
    binary_weight,
    alpha,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    quantize_zero_to=1.0,
    **more,
):
    """`convolution` with the signs of `weight`, those of each kernel times their mean absolute value.

    See `binary_weight_affine` and `convolution`; alpha has one element for each map.
    """
    return _binary_weight_convolution(
        x,
        weight,
        binary_weight,
        alpha,
        bias,
        base_axis,
        *placement(x, base_axis, pad, stride, dilation),
        group,
        quantize_zero_to,
        **more,
    )


# ---- powers of two ----
class _Memory:
    """What a function that quantizes incrementally keeps from one forward pass to the next."""

    def __init__(self, selection_algorithm: str = "largest_abs", seed: int = -1, **args: Any):
        self.step = 0
        self.kept: list[torch.Tensor] = []
        random = selection_algorithm == "random"
        self.generator = generator_of(seed) if random else torch.empty(0, dtype=torch.uint8)

    def __call__(self, shapes: Any) -> list[torch.Tensor]:
        if not self.kept:
            self.kept = [torch.zeros(tuple(shapes[1])), torch.zeros(tuple(shapes[1])), torch.tensor([0, -1])]
        self.kept[2][0] = self.step
        self.step += 1
        return [*self.kept, self.generator]

    def meta(self, shapes: Any) -> list[torch.Tensor]:
        return [torch.empty(n, device="meta") for n in (tuple(shapes[1]), tuple(shapes[1]), 2, 0)]


def _quantized(
    name: str, weight: Any, indicators: Any, memory: tuple, num_bits: int, inq_iterations: Any, selection_algorithm: str
) -> Any:
    _check_like(name, "indicator_fixedweights", indicators, weight)
    if selection_algorithm not in ("largest_abs", "random"):
        raise RuntimeError(
            f"{name}: selection_algorithm must be 'largest_abs' or 'random', not {selection_algorithm!r}"
        )
    return op.inq_weights(
        weight,
        indicators,
        *memory,
        num_bits=num_bits,
        inq_iterations=tuple(inq_iterations),
        random=selection_algorithm == "random",
    )


_DRAWN = ("old_weight", "old_indicators", "steps", "generator")


@function("INQAffine", "x, weight, indicator_fixedweights, bias?", effects=True, draws=_Memory, drawn=_DRAWN)
def inq_affine(
    x,
    weight,
    indicator_fixedweights,
    bias,
    old_weight,
    old_indicators,
    steps,
    generator,
    base_axis=1,
    num_bits=4,
    inq_iterations=(),
    selection_algorithm="largest_abs",
    seed=-1,
):
    """`affine` whose weights become powers of two, or 0, of `num_bits` bits, and then stay.

    weight is quantized in place where indicator_fixedweights, of its shape, is 1. At the forward passes whose
    numbers are in `inq_iterations` half of the other weights are fixed: those of largest absolute value, or
    with "random" each or not; at the last of these passes all. The gradient is given to weight. RuntimeError
    where shapes do not fit.
    """
    w = _quantized(
        "inq_affine",
        weight,
        indicator_fixedweights,
        (old_weight, old_indicators, steps, generator),
        num_bits,
        inq_iterations,
        selection_algorithm,
    )
    return op.affine(x, w, bias, base_axis=base_axis)


@function("INQConvolution", "x, weight, indicator_fixedweights, bias?", effects=True, draws=_Memory, drawn=_DRAWN)
def _inq_convolution(
    x,
    weight,
    indicator_fixedweights,
    bias,
    old_weight,
    old_indicators,
    steps,
    generator,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    num_bits=4,
    inq_iterations=(),
    selection_algorithm="largest_abs",
    seed=-1,
):
    w = _quantized(
        "inq_convolution",
        weight,
        indicator_fixedweights,
        (old_weight, old_indicators, steps, generator),
        num_bits,
        inq_iterations,
        selection_algorithm,
    )
    return _convolution(x, w, bias, base_axis, pad, stride, dilation, group)


def inq_convolution(
    x,
    weight,
    indicator_fixedweights,
    bias=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    num_bits=4,
    inq_iterations=(),
    selection_algorithm="largest_abs",
    seed=-1,
    **more,
):
    """`convolution` whose weights become powers of two step by step; see `inq_affine` and `convolution`."""
    return _inq_convolution(
        x,
        weight,
        indicator_fixedweights,
        bias,
        base_axis,
        *placement(x, base_axis, pad, stride, dilation),
        group,
        num_bits,
        inq_iterations,
        selection_algorithm,
        seed,
        **more,
    )
