"""Layers whose weights are quantized to the levels of a range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import functions as F
from ..functions._images import CONVOLUTION
from ..initializer import ConstantInitializer
from ..parameter import get_parameter_or_create
from ._api import layer
from ._common import DENSE, FILTERS
from .quantized import _DENSE, _FILTERS, _affine, _convolution, _Quantizer

if TYPE_CHECKING:
    from compatgrad.nnabla._nd_array import NdArray
    from compatgrad.nnabla._typing import Array, Initializer
    from compatgrad.nnabla.variable import Variable

__all__ = ["min_max_quantize", "min_max_quantized_affine", "min_max_quantized_convolution"]

# The shared sections of the docstrings of the layers.
_MIN_MAX = """
Args:
    quantize_w, quantize_b: whether weights, or bias, are quantized.
    ql_min_w, ql_min_b: the number of the lowest level.
    ql_max_w, ql_max_b: the number of the highest level.
    w_min_max, b_min_max: whether the range is that of the weights (of the bias); otherwise it is learned.
    qr_min_w_init, qr_min_b_init: initializer of the lower end of the range; None: -2 for weights, -6 for a bias.
    qr_max_w_init, qr_max_b_init: initializer of the upper end of the range; None: 2 for weights, 6 for a bias.
    ste_fine_grained_w, ste_fine_grained_b: True passes no gradient outside the range; False gives the gradient 1
        everywhere.
    eps: the smallest width of a range.
"""


def _level(name, x, level):
    if not isinstance(level, (int, float)):
        return level
    shape = (1,) * x.ndim
    return get_parameter_or_create(name, shape, np.full(shape, level), False, False)


@layer(
    "min_max_quantize",
    [
        ("qr_min", "lower end of the range", "ql_min.shape", False),
        ("qr_max", "upper end", "ql_max.shape", False),
    ],
)
def min_max_quantize(
    x: Array,
    ql_min: float | Variable = 0,
    ql_max: float | Variable = 255,
    decay: float = 0.999,
    x_min_max: bool = False,
    ema: bool = False,
    ste_fine_grained: bool = True,
    eps: float = 0.01,
    qr_min_init: Initializer | None = None,
    qr_max_init: Initializer | None = None,
    fix_parameters: bool = False,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array:
    """Numbers limited to a range and rounded to the levels that it is divided into (Jacob et al., 2017).

    Args:
        x: any shape, computed in float32.
        ql_min: the number of the lowest level; a number becomes the parameter `ql_min`, a Variable is used as it is.
        ql_max: the number of the highest level; a number becomes the parameter `ql_max`, a Variable is used as it is.
        decay: weight of the old value in the moving average of `ema`.
        x_min_max: whether the range is that of `x`; otherwise it is learned.
        ema: whether, with `x_min_max`, it is a moving average of such ranges.
        ste_fine_grained: True passes no gradient outside the range; False gives the gradient 1 everywhere.
        eps: the smallest width of the range.
        qr_min_init: initializer of the lower end of the range; None: -6.
        qr_max_init: initializer of the upper end of the range; None: 6.
        outputs: arrays into which the results are written, with the results' numbers of elements; None makes new ones.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[-7.0, 0.1, 3.2]]))
        >>> y = PF.min_max_quantize(x, ql_max=12)
        >>> y.forward()
        >>> y.d, list(nn.get_parameters())
        (array([[-6.,  0.,  3.]], dtype=float32), ['min_max_quantize/qr_min', 'min_max_quantize/qr_max'])
    """
    ql_min = _level("ql_min", x, ql_min)
    ql_max = _level("ql_max", x, ql_max)
    trained = not (x_min_max and ema)
    low = ConstantInitializer(-6.0) if qr_min_init is None else qr_min_init
    high = ConstantInitializer(6.0) if qr_max_init is None else qr_max_init
    qr_min = get_parameter_or_create("qr_min", ql_min.shape, low, trained, not fix_parameters)
    qr_max = get_parameter_or_create("qr_max", ql_min.shape, high, trained, not fix_parameters)
    return F.min_max_quantize(
        x, qr_min, qr_max, ql_min, ql_max, decay, x_min_max, ema, ste_fine_grained, eps, outputs=outputs
    )


def _min_max(letter, limit, given, eps, fix) -> _Quantizer | None:
    """The quantizer of weights or bias; `given` are the arguments that a layer has for each of them."""
    on, levels, x_min_max, range_init, ste_fine_grained = given
    if not on:
        return None
    low, high = range_init
    return lambda x, kept: min_max_quantize(
        x,
        *levels,
        0.999,
        x_min_max,
        False,
        ste_fine_grained,
        eps,
        ConstantInitializer(-limit) if low is None else low,
        ConstantInitializer(limit) if high is None else high,
        fix,
        outputs=[kept],
        name=f"min_max_quantize_{letter}",
    )


_RANGES = [
    ("min_max_quantize_*/min_max_quantize/qr_min", "lower end of the range of W or b", "(1, ...)", True),
    ("min_max_quantize_*/min_max_quantize/qr_max", "upper end of the range of W or b", "(1, ...)", True),
]


@layer("min_max_quantized_affine", _DENSE + _RANGES, _MIN_MAX, DENSE)
def min_max_quantized_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    quantize_w: bool = True,
    ql_min_w: float | Variable = 0,
    ql_max_w: float | Variable = 255,
    w_min_max: bool = False,
    qr_min_w_init: Initializer | None = None,
    qr_max_w_init: Initializer | None = None,
    ste_fine_grained_w: bool = True,
    quantize_b: bool = True,
    ql_min_b: float | Variable = 0,
    ql_max_b: float | Variable = 255,
    b_min_max: bool = False,
    qr_min_b_init: Initializer | None = None,
    qr_max_b_init: Initializer | None = None,
    ste_fine_grained_b: bool = True,
    eps: float = 0.01,
) -> Array:
    """A dense layer with weights and bias quantized by `min_max_quantize`.

    Each forward pass writes the quantized values into the parameters `W_q` and `b_q`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 1.0]]))
        >>> y = PF.min_max_quantized_affine(x, 1, w_init=np.array([[0.3], [-0.9]]), ql_max_w=8)
        >>> y.forward()
        >>> y.d
        array([[-0.5]], dtype=float32)
    """
    for_w = quantize_w, (ql_min_w, ql_max_w), w_min_max, (qr_min_w_init, qr_max_w_init), ste_fine_grained_w
    for_b = quantize_b, (ql_min_b, ql_max_b), b_min_max, (qr_min_b_init, qr_max_b_init), ste_fine_grained_b
    return _affine(
        "min_max_quantized_affine",
        inp,
        n_outmaps,
        base_axis,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        _min_max("w", 2.0, for_w, eps, fix_parameters),
        _min_max("b", 6.0, for_b, eps, fix_parameters),
    )


@layer("min_max_quantized_conv", _FILTERS + _RANGES, _MIN_MAX, FILTERS, CONVOLUTION)
def min_max_quantized_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    channel_last: bool = False,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    quantize_w: bool = True,
    ql_min_w: float | Variable = 0,
    ql_max_w: float | Variable = 255,
    w_min_max: bool = False,
    qr_min_w_init: Initializer | None = None,
    qr_max_w_init: Initializer | None = None,
    ste_fine_grained_w: bool = True,
    quantize_b: bool = True,
    ql_min_b: float | Variable = 0,
    ql_max_b: float | Variable = 255,
    b_min_max: bool = False,
    qr_min_b_init: Initializer | None = None,
    qr_max_b_init: Initializer | None = None,
    ste_fine_grained_b: bool = True,
    eps: float = 0.01,
) -> Array:
    """A convolution with filters and bias quantized by `min_max_quantize`.

    Each forward pass writes the quantized values into the parameters `W_q` and `b_q`.

    Example:
        >>> PF.min_max_quantized_convolution(nn.Variable((2, 3, 8, 8)), 4, (3, 3)).shape
        (2, 4, 6, 6)
    """
    geometry = (base_axis, pad, stride, dilation, group, channel_last)
    for_w = quantize_w, (ql_min_w, ql_max_w), w_min_max, (qr_min_w_init, qr_max_w_init), ste_fine_grained_w
    for_b = quantize_b, (ql_min_b, ql_max_b), b_min_max, (qr_min_b_init, qr_max_b_init), ste_fine_grained_b
    return _convolution(
        "min_max_quantized_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        _min_max("w", 2.0, for_w, eps, fix_parameters),
        _min_max("b", 6.0, for_b, eps, fix_parameters),
    )
