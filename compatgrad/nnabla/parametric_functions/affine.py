"""Dense layers, embeddings and other parametric functions without a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import functions as F
from .. import parameter as _parameter
from ..functions.binary import BINARY, INCREMENTAL
from ..initializer import ConstantInitializer, UniformInitializer
from ..parameter import get_parameter_or_create
from ..variable import Variable
from ._api import layer
from ._common import (
    DENSE,
    applied,
    axis_size,
    bias,
    decomposed,
    dense_shapes,
    glorot,
    plain_parameters,
    sampled,
    weight,
)

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array, Initializer

__all__ = [
    "affine",
    "binary_connect_affine",
    "binary_weight_affine",
    "embed",
    "inq_affine",
    "prelu",
    "svd_affine",
]


@layer("affine", [("W", "weights", "(inmaps, outmaps)", True), ("b", "bias", "(outmaps,)", True)], DENSE)
def affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    w_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
    apply_w: Callable[[Variable], Variable] | None = None,
    apply_b: Callable[[Variable], Variable] | None = None,
) -> Array:
    """A dense layer: inp @ W + b.

    Example:
        >>> y = PF.affine(nn.Variable((2, 3)), 4)
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 4), {'affine/W': (3, 4), 'affine/b': (4,)})
    """
    if type(inp) is Variable and inp.ndim == 2 and type(n_outmaps) is int and base_axis == 1:
        if with_bias is True and apply_w is None and apply_b is None:
            shapes = [inp.shape[1], n_outmaps], [n_outmaps]
            w, b = plain_parameters(_parameter.current_scope, *shapes, fix_parameters)
            if w is not None and b is not None:
                return F.affine(inp, w, b)
    outs, n_in, n_out = dense_shapes("affine", inp, n_outmaps, base_axis)
    w = weight("W", [n_in, *outs], w_init, fix_parameters, glorot, rng, n_in, n_out)
    w = applied(apply_w, w)
    b = applied(apply_b, bias(outs, b_init, fix_parameters, with_bias))
    return F.affine(inp, w, b, base_axis)


@layer(
    "svd_affine",
    [("U", "left factor", "(inmaps, r)", True), ("V", "right factor", "(r, outmaps)", True)]
    + [("b", "bias", "(outmaps,)", True)],
    DENSE,
)
def svd_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    r: int,
    base_axis: int = 1,
    uv_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A dense layer whose weights are the product of two matrices (low-rank factorization).

    Args:
        r: the rank: the number of rows of the right matrix.
        uv_init: the weights (features, *n_outmaps) that the initial product approximates, an initializer or an array;
            None: UniformInitializer with Glorot's limits.

    Raises:
        ValueError: `r` is less than 1, `inp` does not have the axis, or a parameter exists with another shape.

    Example:
        >>> y = PF.svd_affine(nn.Variable((2, 6)), 4, r=2)
        >>> y.shape, {name: p.shape for name, p in nn.get_parameters().items()}
        ((2, 4), {'svd_affine/U': (6, 2), 'svd_affine/V': (2, 4), 'svd_affine/b': (4,)})
    """
    outs, n_in, n_out = dense_shapes("svd_affine", inp, n_outmaps, base_axis)
    # drawn even where the factors exist, as in nnabla, so that the generator gives the same later numbers
    start = sampled(glorot(rng, n_in, n_out) if uv_init is None else uv_init, [n_in, *outs])

    def factors() -> tuple[Any, Any]:
        _check_rank("svd_affine", r)
        left, values, right = np.linalg.svd(start.reshape(n_in, n_out), full_matrices=False)
        return (left * values)[:, :r], right[:r].reshape([-1, *outs])

    u, v = decomposed(["U", "V"], factors, fix_parameters)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.affine(F.affine(inp, u, bias=None, base_axis=base_axis), v, bias=b, base_axis=base_axis)


def _check_rank(name: str, r: int) -> None:
    if r <= 0:
        raise ValueError(f"{name}: the rank r must be at least 1, not {r}")


_BINARY = [("W", "weights", "(inmaps, outmaps)", True), ("Wb", "binary weights", "(inmaps, outmaps)", False)]
_BIAS = [("b", "bias", "(outmaps,)", True)]


def _binary(function, inp, n_outmaps, base_axis, w_init, wb_init, fix, rng):
    outs, n_in, n_out = dense_shapes(function, inp, n_outmaps, base_axis)
    w = weight("W", [n_in, *outs], w_init, fix, glorot, rng, n_in, n_out)
    wb_init = glorot(rng, n_in, n_out) if wb_init is None else wb_init
    return outs, w, get_parameter_or_create("Wb", [n_in, *outs], wb_init, False)


@layer("bicon_affine", _BINARY + _BIAS, BINARY, DENSE)
def binary_connect_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    quantize_zero_to: float = 1.0,
    w_init: Initializer | None = None,
    wb_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A dense layer that uses the signs of its weights (Courbariaux et al., 2015).

    Each forward pass writes the signs into the parameter `Wb`.

    Args:
        wb_init: initializer of `Wb`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 2.0]]))
        >>> y = PF.binary_connect_affine(x, 1, w_init=np.array([[0.3], [-0.1]]))
        >>> y.forward()
        >>> y.d
        array([[-1.]], dtype=float32)
    """
    outs, w, wb = _binary("binary_connect_affine", inp, n_outmaps, base_axis, w_init, wb_init, fix_parameters, rng)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.binary_connect_affine(inp, w, wb, b, base_axis, quantize_zero_to)


@layer("bwn_affine", _BINARY + [("alpha", "scales", "(outmaps,)", False)] + _BIAS, BINARY, DENSE)
def binary_weight_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    quantize_zero_to: float = 1.0,
    w_init: Initializer | None = None,
    wb_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A dense layer that uses the signs of its weights, multiplied by their mean magnitude (Rastegari et al., 2016).

    Each forward pass writes the signs into the parameter `Wb` and the magnitudes into `alpha`.

    Args:
        wb_init: initializer of `Wb`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 2.0]]))
        >>> y = PF.binary_weight_affine(x, 1, w_init=np.array([[0.3], [-0.1]]))
        >>> y.forward()
        >>> y.d
        array([[-0.2]], dtype=float32)
    """
    outs, w, wb = _binary("binary_weight_affine", inp, n_outmaps, base_axis, w_init, wb_init, fix_parameters, rng)
    alpha = get_parameter_or_create("alpha", outs, ConstantInitializer(0), False)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.binary_weight_affine(inp, w, wb, alpha, b, base_axis, quantize_zero_to)


@layer(
    "inq_affine",
    [
        ("W", "weights", "(inmaps, outmaps)", True),
        ("I", "1 where a weight is fixed", "(inmaps, outmaps)", False),
    ]
    + _BIAS,
    INCREMENTAL,
    DENSE,
)
def inq_affine(
    inp: Array,
    n_outmaps: int | Sequence[int],
    base_axis: int = 1,
    num_bits: int = 4,
    inq_iterations: Sequence[int] = (),
    selection_algorithm: str = "random",
    seed: int = -1,
    w_init: Initializer | None = None,
    i_init: Initializer | None = None,
    b_init: Initializer | None = None,
    fix_parameters: bool = False,
    rng: np.random.RandomState | None = None,
    with_bias: bool = True,
) -> Array:
    """A dense layer whose weights become powers of two, or 0, step by step (Zhou et al., 2017).

    Args:
        i_init: initializer of the parameter `I`; None: zeros.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([[1.0, 1.0]]))
        >>> y = PF.inq_affine(x, 1, inq_iterations=(0,), w_init=np.array([[0.6], [0.1]]))
        >>> y.forward()
        >>> y.d
        array([[0.625]], dtype=float32)
    """
    outs, n_in, n_out = dense_shapes("inq_affine", inp, n_outmaps, base_axis)
    w = weight("W", [n_in, *outs], w_init, fix_parameters, glorot, rng, n_in, n_out)
    fixed = get_parameter_or_create("I", [n_in, *outs], ConstantInitializer() if i_init is None else i_init, False)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.inq_affine(inp, w, fixed, b, base_axis, num_bits, inq_iterations, selection_algorithm, seed)


@layer("embed", [("W", "one row per input", "(n_inputs, n_features)", True)])
def embed(
    inp: Array,
    n_inputs: int,
    n_features: int,
    initializer: Initializer | None = None,
    fix_parameters: bool = False,
    apply_w: Callable[[Variable], Variable] | None = None,
) -> Array:
    """The rows of a learned table that integers select.

    Args:
        inp: integers of any shape, below `n_inputs`.
        n_inputs: the number of rows.
        n_features: the length of a row.
        initializer: initializer of the table; None: uniform numbers of standard deviation 1.
        apply_w: a function that is applied to the table before it is used.

    Returns:
        Array (*inp.shape, n_features).

    Raises:
        RuntimeError: an integer is not the number of a row.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([2, 0]))
        >>> y = PF.embed(x, 3, 2, initializer=np.arange(6.0).reshape(3, 2))
        >>> y.forward()
        >>> y.d
        array([[4., 5.],
               [0., 1.]], dtype=float32)
    """
    w = weight("W", [n_inputs, n_features], initializer, fix_parameters, _rows)
    return F.embed(inp, applied(apply_w, w))


def _rows() -> UniformInitializer:
    return UniformInitializer((-np.sqrt(3.0), np.sqrt(3.0)))


@layer("prelu", [("slope", "negative slope", "() if shared else (inp.shape[base_axis],)", True)])
def prelu(
    inp: Array,
    base_axis: int = 1,
    shared: bool = True,
    fix_parameters: bool = False,
    slope_init: Initializer | None = None,
) -> Array:
    """max(0, inp) + slope * min(0, inp), with slopes that are learned (He et al., 2015).

    Args:
        inp: any shape, computed in float32.
        base_axis: the axis of the channels, negative ones counted from the last.
        shared: whether there is one slope for all channels.
        slope_init: initializer of the slopes; None: 0.25.

    Returns:
        Array of the shape of `inp`.

    Example:
        >>> y = PF.prelu(nn.Variable.from_numpy_array(np.array([[-4.0, 2.0]])))
        >>> y.forward()
        >>> y.d
        array([[-1.,  2.]], dtype=float32)
    """
    shape = () if shared else (axis_size("prelu", inp, "base_axis", base_axis),)
    init = ConstantInitializer(0.25) if slope_init is None else slope_init
    return F.prelu(inp, weight("slope", shape, init, fix_parameters), base_axis)
