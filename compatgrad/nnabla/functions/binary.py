"""Layers whose weights are quantized: either to two values, or step by step to powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import torch

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented, section
from compatgrad.nnabla.functions._images import CONVOLUTION, on_images, placement
from compatgrad.nnabla.functions.layers import affine
from compatgrad.nnabla.random import generator_of

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = [
    "binary_connect_affine",
    "binary_connect_convolution",
    "binary_weight_affine",
    "binary_weight_convolution",
    "inq_affine",
    "inq_convolution",
]

# The shared sections of docstrings: of fully connected layers, of layers with two values, of layers with powers of two.
_AFFINE = "\n".join(section(affine.__doc__, title) for title in ("Args", "Returns", "Raises"))
BINARY = """
Args:
    binary_weight: an array of the shape of `weight` into which the signs are written. It gets no gradient: the gradient
        with respect to the signs becomes that of `weight`.
    quantize_zero_to: the sign of 0.
"""
INCREMENTAL = """
Args:
    indicator_fixedweights: an array of the shape of `weight`, 1 where a weight is a power of two already.
    num_bits: the number of bits of a weight.
    inq_iterations: the numbers of the forward passes at which half of the remaining weights become powers of two; at
        the last one, all do.
    selection_algorithm: which half: "largest_abs", the weights of largest magnitude, or "random".
    seed: seed of the generator of "random"; -1: the generator that all functions share.

Raises:
    RuntimeError: the shapes do not fit, or the algorithm is unknown.
"""


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
@function("BinaryConnectAffine", "x, weight, binary_weight, bias?", effects=True, shared=(BINARY, _AFFINE))
def binary_connect_affine(
    x: Array,
    weight: Array,
    binary_weight: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    quantize_zero_to: float = 1.0,
) -> Array:
    """The fully connected layer with the signs of its weights (Courbariaux et al., 2015).

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> x, w, signs = (array(np.array(v)) for v in ([[1.0, 2.0]], [[0.3], [-0.1]], [[0.0], [0.0]]))
        >>> F.binary_connect_affine(x, w, signs).data
        array([[-1.]], dtype=float32)
        >>> signs.data
        array([[ 1.],
               [-1.]], dtype=float32)
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


@documented(BINARY, CONVOLUTION)
def binary_connect_convolution(
    x: Array,
    weight: Array,
    binary_weight: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    quantize_zero_to: float = 1.0,
    **more: Any,
) -> Array:
    """Convolution with the signs of the weights (Courbariaux et al., 2015).

    Example:
        >>> x, w, signs = (nn.NdArray.from_numpy_array(np.full((1, 1, 2), v)) for v in (3.0, -0.5, 0.0))
        >>> F.binary_connect_convolution(x, w, signs).data
        array([[[-6.]]], dtype=float32)
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


@function("BinaryWeightAffine", "x, weight, binary_weight, alpha, bias?", effects=True, shared=(BINARY, _AFFINE))
def binary_weight_affine(
    x: Array,
    weight: Array,
    binary_weight: Array,
    alpha: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    quantize_zero_to: float = 1.0,
) -> Array:
    """The fully connected layer with the signs of its weights, times their mean magnitude (Rastegari et al., 2016).

    Args:
        alpha: an array with one element for each output, into which the mean magnitudes are written.

    Example:
        >>> x, w, signs, alpha = (
        ...     nn.NdArray.from_numpy_array(np.array(v)) for v in ([[1.0, 2.0]], [[0.3], [-0.1]], [[0.0], [0.0]], [0.0])
        ... )
        >>> F.binary_weight_affine(x, w, signs, alpha).data, alpha.data
        (array([[-0.2]], dtype=float32), array([0.2], dtype=float32))
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


@documented(BINARY, CONVOLUTION)
def binary_weight_convolution(
    x: Array,
    weight: Array,
    binary_weight: Array,
    alpha: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    quantize_zero_to: float = 1.0,
    **more: Any,
) -> Array:
    """Convolution with the signs of the weights, times the mean magnitude of each kernel (Rastegari et al., 2016).

    Args:
        alpha: an array with one element for each map, into which the mean magnitudes are written.

    Example:
        >>> x, w, signs = (nn.NdArray.from_numpy_array(np.full((1, 1, 2), v)) for v in (3.0, -0.5, 0.0))
        >>> F.binary_weight_convolution(x, w, signs, nn.NdArray((1,))).data
        array([[[-3.]]], dtype=float32)
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
    """The state that a function with incremental quantization keeps between forward passes."""

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


@function(
    "INQAffine",
    "x, weight, indicator_fixedweights, bias?",
    effects=True,
    draws=_Memory,
    drawn=_DRAWN,
    shared=(INCREMENTAL, _AFFINE),
)
def inq_affine(
    x: Array,
    weight: Array,
    indicator_fixedweights: Array,
    bias: Array | None,
    old_weight: Any,
    old_indicators: Any,
    steps: Any,
    generator: Any,
    base_axis: int = 1,
    num_bits: int = 4,
    inq_iterations: Sequence[int] = (),
    selection_algorithm: str = "largest_abs",
    seed: int = -1,
) -> Array:
    """The fully connected layer whose weights become powers of two, or 0, step by step (Zhou et al., 2017).

    Weights are changed in place and then stay fixed. The gradient becomes that of `weight`.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> x, w, fixed = (array(np.array(v)) for v in ([[1.0, 1.0]], [[0.6], [0.1]], [[0.0], [0.0]]))
        >>> F.inq_affine(x, w, fixed, inq_iterations=(0,)).data
        array([[0.625]], dtype=float32)
        >>> w.data, fixed.data
        (array([[0.5  ],
               [0.125]], dtype=float32), array([[1.],
               [1.]], dtype=float32))
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


@documented(INCREMENTAL, CONVOLUTION)
def inq_convolution(
    x: Array,
    weight: Array,
    indicator_fixedweights: Array,
    bias: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    num_bits: int = 4,
    inq_iterations: Sequence[int] = (),
    selection_algorithm: str = "largest_abs",
    seed: int = -1,
    **more: Any,
) -> Array:
    """Convolution whose weights become powers of two, or 0, step by step (Zhou et al., 2017).

    Weights are changed in place and then stay fixed. The gradient becomes that of `weight`.

    Example:
        >>> x, w, fixed = (nn.NdArray.from_numpy_array(np.full((1, 1, 2), v)) for v in (1.0, 0.6, 0.0))
        >>> F.inq_convolution(x, w, fixed, inq_iterations=(0,)).data
        array([[[1.]]], dtype=float32)
    """
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
