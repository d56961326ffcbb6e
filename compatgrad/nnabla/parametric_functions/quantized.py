"""Layers with quantized or pruned weights.

The float weights are learned. Forward writes the quantized or pruned weights to additional parameters, whose names end
in ``_q``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import functions as F
from ..functions._images import CONVOLUTION
from ..initializer import ConstantInitializer
from ..parameter import get_parameter_or_create
from ._api import layer
from ._common import DENSE, FILTERS, dense_shapes, filter_shapes, glorot, weight

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array, Initializer

__all__ = [
    "fixed_point_quantized_affine",
    "fixed_point_quantized_convolution",
    "pow2_quantized_affine",
    "pow2_quantized_convolution",
    "pruned_affine",
    "pruned_convolution",
]

# The shared sections of the docstrings of these functions.
_FIXED_POINT = """
Args:
    quantize_w, quantize_b: whether weights, or bias, are quantized.
    sign_w, sign_b: whether one bit is for the sign.
    n_w, n_b: the number of bits.
    delta_w, delta_b: the distance between levels.
    ste_fine_grained_w, ste_fine_grained_b: whether no gradient passes where a number is clipped.

Raises:
    RuntimeError: the shapes do not fit, a number of bits or distance is not positive, or no bit is left except the
        sign.
"""
_POW2 = """
Args:
    quantize_w, quantize_b: whether weights, or bias, are quantized.
    sign_w, sign_b: whether one bit is for the sign.
    with_zero_w, with_zero_b: whether one bit is for the number 0.
    n_w, n_b: the number of bits. They determine the number of powers.
    m_w, m_b: the largest power is 2 ** m.
    ste_fine_grained_w, ste_fine_grained_b: whether no gradient passes where a number is clipped.

Raises:
    RuntimeError: the shapes do not fit, or no bit is left except those for the sign and for 0.
"""
_PRUNED = """
Args:
    prune_w, prune_b: whether weights, or bias, are pruned.
    rate_w, rate_b: the fraction of the numbers, in [0, 1], that become 0.

Raises:
    RuntimeError: the shapes do not fit, or a rate is not in [0, 1].
"""

# functions of a parameter and of the NdArray into which the result is written
_Quantizer = Callable[[Any, Any], Any]


def _quantized(name: str, shape: Sequence[int], init: Any, fix: bool, quantizer: _Quantizer | None) -> Any:
    param = weight(name, shape, init, fix)
    if quantizer is None:
        return param
    kept = get_parameter_or_create(name + "_q", shape, init, False)
    result = quantizer(param, kept.data)
    result.persistent = True
    return result


def _both(w_shape, w_init, b_shape, b_init, fix, with_bias, quantize_w, quantize_b):
    w = _quantized("W", w_shape, w_init, fix, quantize_w)
    if not with_bias:
        return w, None
    return w, _quantized("b", b_shape, ConstantInitializer() if b_init is None else b_init, fix, quantize_b)


def _affine(function, inp, n_outmaps, base_axis, w_init, b_init, fix, rng, with_bias, quantize_w, quantize_b):
    outs, n_in, n_out = dense_shapes(function, inp, n_outmaps, base_axis)
    w_init = glorot(rng, n_in, n_out) if w_init is None else w_init
    w, b = _both([n_in, *outs], w_init, outs, b_init, fix, with_bias, quantize_w, quantize_b)
    return F.affine(inp, w, b, base_axis)


def _convolution(function, inp, outmaps, kernel, geometry, w_init, b_init, fix, rng, with_bias, quantize_w, quantize_b):
    base_axis, _, _, _, group, channel_last = geometry
    channels, one = filter_shapes(function, inp, kernel, group, channel_last, base_axis)
    w_init = glorot(rng, channels, outmaps, kernel) if w_init is None else w_init
    w, b = _both((outmaps, *one), w_init, (outmaps,), b_init, fix, with_bias, quantize_w, quantize_b)
    return F.convolution(inp, w, b, *geometry)


def _descriptions(shape: str) -> list[tuple[str, str, str, bool]]:
    return [
        ("W", "float weights", shape, True),
        ("b", "float bias", "(outmaps,)", True),
        ("W_q", "weights that forward has used", shape, False),
        ("b_q", "bias that forward has used", "(outmaps,)", False),
    ]


_DENSE = _descriptions("(inmaps, outmaps)")
_FILTERS = _descriptions("(outmaps, inmaps // group, *kernel)")


def _fixed_point(on, sign, n, delta, ste_fine_grained) -> _Quantizer | None:
    if not on:
        return None
    return lambda x, kept: F.fixed_point_quantize(
        x, quantize=on, sign=sign, n=n, delta=delta, ste_fine_grained=ste_fine_grained, outputs=[kept]
    )


@layer("fp_quantized_affine", _DENSE, _FIXED_POINT, DENSE)
def fixed_point_quantized_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    quantize_w: bool = True,
    sign_w: bool = True,
    n_w: int = 8,
    delta_w: float = 2 ** (-4),
    ste_fine_grained_w: bool = True,
    quantize_b: bool = True,
    sign_b: bool = True,
    n_b: int = 8,
    delta_b: float = 2 ** (-4),
    ste_fine_grained_b: bool = True,
) -> Array:
    """A dense layer with weights and bias rounded to multiples of a number.

    Each forward writes the quantized values that it uses into the parameters `W_q` and `b_q`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 1.0]]))
        >>> y = PF.fixed_point_quantized_affine(x, 1, w_init=np.array([[0.3], [-0.9]]), delta_w=0.25)
        >>> y.forward()
        >>> y.d
        array([[-0.75]], dtype=float32)
    """
    quantize_w = _fixed_point(quantize_w, sign_w, n_w, delta_w, ste_fine_grained_w)
    quantize_b = _fixed_point(quantize_b, sign_b, n_b, delta_b, ste_fine_grained_b)
    return _affine(
        "fixed_point_quantized_affine",
        inp,
        n_outmaps,
        base_axis,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


@layer("fp_quantized_conv", _FILTERS, _FIXED_POINT, FILTERS, CONVOLUTION)
def fixed_point_quantized_convolution(
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
    sign_w: bool = True,
    n_w: int = 8,
    delta_w: float = 2 ** (-4),
    ste_fine_grained_w: bool = True,
    quantize_b: bool = True,
    sign_b: bool = True,
    n_b: int = 8,
    delta_b: float = 2 ** (-4),
    ste_fine_grained_b: bool = True,
) -> Array:
    """A convolution with filters and bias rounded to multiples of a number.

    Each forward writes the quantized values that it uses into the parameters `W_q` and `b_q`.

    Example:
        >>> y = PF.fixed_point_quantized_convolution(nn.Variable((2, 3, 8, 8)), 4, (3, 3))
        >>> y.shape, list(nn.get_parameters(grad_only=False))
        ((2, 4, 6, 6), ['fp_quantized_conv/W', 'fp_quantized_conv/W_q', 'fp_quantized_conv/b', 'fp_quantized_conv/b_q'])
    """
    geometry = (base_axis, pad, stride, dilation, group, channel_last)
    quantize_w = _fixed_point(quantize_w, sign_w, n_w, delta_w, ste_fine_grained_w)
    quantize_b = _fixed_point(quantize_b, sign_b, n_b, delta_b, ste_fine_grained_b)
    return _convolution(
        "fixed_point_quantized_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


def _pow2(on, sign, with_zero, n, m, ste_fine_grained) -> _Quantizer | None:
    if not on:
        return None
    return lambda x, kept: F.pow2_quantize(
        x,
        quantize=on,
        sign=sign,
        with_zero=with_zero,
        n=n,
        m=m,
        ste_fine_grained=ste_fine_grained,
        outputs=[kept],
    )


@layer("pow2_quantized_affine", _DENSE, _POW2, DENSE)
def pow2_quantized_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    quantize_w: bool = True,
    sign_w: bool = True,
    with_zero_w: bool = False,
    n_w: int = 8,
    m_w: int = 2,
    ste_fine_grained_w: bool = True,
    quantize_b: bool = True,
    sign_b: bool = True,
    with_zero_b: bool = False,
    n_b: int = 8,
    m_b: int = 2,
    ste_fine_grained_b: bool = True,
) -> Array:
    """A dense layer with weights and bias rounded to powers of two.

    Each forward writes the quantized values that it uses into the parameters `W_q` and `b_q`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 1.0]]))
        >>> y = PF.pow2_quantized_affine(x, 1, w_init=np.array([[0.3], [-0.9]]), with_bias=False)
        >>> y.forward()
        >>> y.d
        array([[-0.75]], dtype=float32)
    """
    quantize_w = _pow2(quantize_w, sign_w, with_zero_w, n_w, m_w, ste_fine_grained_w)
    quantize_b = _pow2(quantize_b, sign_b, with_zero_b, n_b, m_b, ste_fine_grained_b)
    return _affine(
        "pow2_quantized_affine",
        inp,
        n_outmaps,
        base_axis,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


@layer("pow2_quantized_conv", _FILTERS, _POW2, FILTERS, CONVOLUTION)
def pow2_quantized_convolution(
    inp: Array,
    outmaps: int,
    kernel: Sequence[int],
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    base_axis: int = 1,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    quantize_w: bool = True,
    with_zero_w: bool = False,
    sign_w: bool = True,
    n_w: int = 8,
    m_w: int = 2,
    ste_fine_grained_w: bool = True,
    quantize_b: bool = True,
    with_zero_b: bool = False,
    sign_b: bool = True,
    n_b: int = 8,
    m_b: int = 2,
    ste_fine_grained_b: bool = True,
) -> Array:
    """A convolution with filters and bias rounded to powers of two.

    Each forward writes the quantized values that it uses into the parameters `W_q` and `b_q`.

    Example:
        >>> PF.pow2_quantized_convolution(nn.Variable((2, 3, 8, 8)), 4, (3, 3)).shape
        (2, 4, 6, 6)
    """
    geometry = (base_axis, pad, stride, dilation, group, False)
    quantize_w = _pow2(quantize_w, sign_w, with_zero_w, n_w, m_w, ste_fine_grained_w)
    quantize_b = _pow2(quantize_b, sign_b, with_zero_b, n_b, m_b, ste_fine_grained_b)
    return _convolution(
        "pow2_quantized_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        quantize_w,
        quantize_b,
    )


def _pruner(on, rate) -> _Quantizer | None:
    return (lambda x, kept: F.prune(x, rate=rate, outputs=[kept])) if on else None


@layer("pruned_affine", _DENSE, _PRUNED, DENSE)
def pruned_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    prune_w: bool = True,
    rate_w: float = 0.9,
    prune_b: bool = True,
    rate_b: float = 0.9,
) -> Array:
    """A dense layer in which the weights and biases of smallest magnitude are replaced by 0.

    Each forward writes the quantized values that it uses into the parameters `W_q` and `b_q`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 1.0, 1.0]]))
        >>> y = PF.pruned_affine(x, 1, w_init=np.array([[0.25], [-0.75], [0.1]]), rate_w=0.9)
        >>> y.forward()
        >>> y.d
        array([[-0.5]], dtype=float32)
    """
    prune_w, prune_b = _pruner(prune_w, rate_w), _pruner(prune_b, rate_b)
    return _affine(
        "pruned_affine", inp, n_outmaps, base_axis, w_init, b_init, fix_parameters, rng, with_bias, prune_w, prune_b
    )


@layer("pruned_conv", _FILTERS, _PRUNED, FILTERS, CONVOLUTION)
def pruned_convolution(
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
    prune_w: bool = True,
    rate_w: float = 0.9,
    prune_b: bool = True,
    rate_b: float = 0.9,
) -> Array:
    """A convolution in which the weights and biases of smallest magnitude are replaced by 0.

    Each forward writes the quantized values that it uses into the parameters `W_q` and `b_q`.

    Example:
        >>> PF.pruned_convolution(nn.Variable((2, 3, 8, 8)), 4, (3, 3), rate_w=0.5).shape
        (2, 4, 6, 6)
    """
    geometry = (base_axis, pad, stride, dilation, group, channel_last)
    prune_w, prune_b = _pruner(prune_w, rate_w), _pruner(prune_b, rate_b)
    return _convolution(
        "pruned_convolution",
        inp,
        outmaps,
        kernel,
        geometry,
        w_init,
        b_init,
        fix_parameters,
        rng,
        with_bias,
        prune_w,
        prune_b,
    )
