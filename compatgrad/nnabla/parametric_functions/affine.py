"""Dense layers, embeddings and other parametric functions without a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import functions as F
from ..initializer import ConstantInitializer, UniformInitializer
from ..parameter import get_parameter_or_create
from ._api import parametric_function_api
from ._common import applied, axis_size, bias, decomposed, dense_shapes, glorot, sampled, weight

__all__ = [
    "affine",
    "binary_connect_affine",
    "binary_weight_affine",
    "embed",
    "inq_affine",
    "prelu",
    "svd_affine",
]


@parametric_function_api("affine", [("W", "weights", "(inmaps, outmaps)", True), ("b", "bias", "(outmaps,)", True)])
def affine(
    inp,
    n_outmaps,
    base_axis=1,
    w_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
    apply_w=None,
    apply_b=None,
):
    """Dense layer ``inp @ W + b`` over the axes of `inp` from `base_axis` on, taken as one.

    `n_outmaps`, an int or several, are the axes that replace them. `w_init` (Glorot's uniform by default) and
    `b_init` (zeros) are initializers or arrays, `rng` the random state of the default; `apply_w` and
    `apply_b` are functions applied to the parameters. `fix_parameters` keeps gradients from them.
    """
    outs, n_in, n_out = dense_shapes("affine", inp, n_outmaps, base_axis)
    w = weight("W", [n_in, *outs], glorot(rng, n_in, n_out) if w_init is None else w_init, fix_parameters)
    w = applied(apply_w, w)
    b = applied(apply_b, bias(outs, b_init, fix_parameters, with_bias))
    return F.affine(inp, w, b, base_axis)


@parametric_function_api(
    "svd_affine",
    [("U", "left factor", "(inmaps, r)", True), ("V", "right factor", "(r, outmaps)", True)]
    + [("b", "bias", "(outmaps,)", True)],
)
def svd_affine(
    inp,
    n_outmaps,
    r,
    base_axis=1,
    uv_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Dense layer whose weights are a product of two matrices, of rank `r` at most.

    The factors start as the best approximation of `uv_init`, an array of the dense layer's weights or an
    initializer of them, unless they exist. Other arguments as in `affine`. Raises ValueError for `r` below 1.
    """
    outs, n_in, n_out = dense_shapes("svd_affine", inp, n_outmaps, base_axis)
    # drawn even where the factors exist: the generator goes on as in the original
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
    w = weight("W", [n_in, *outs], glorot(rng, n_in, n_out) if w_init is None else w_init, fix)
    wb_init = glorot(rng, n_in, n_out) if wb_init is None else wb_init
    return outs, w, get_parameter_or_create("Wb", [n_in, *outs], wb_init, False)


@parametric_function_api("bicon_affine", _BINARY + _BIAS)
def binary_connect_affine(
    inp,
    n_outmaps,
    base_axis=1,
    quantize_zero_to=1.0,
    w_init=None,
    wb_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Dense layer that computes with the signs of its weights, which forward writes to the parameter ``Wb``.

    0 counts as `quantize_zero_to`. Other arguments as in `affine`. Courbariaux et al. 2015, BinaryConnect.
    """
    outs, w, wb = _binary("binary_connect_affine", inp, n_outmaps, base_axis, w_init, wb_init, fix_parameters, rng)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.binary_connect_affine(inp, w, wb, b, base_axis, quantize_zero_to)


@parametric_function_api("bwn_affine", _BINARY + [("alpha", "scales", "(outmaps,)", False)] + _BIAS)
def binary_weight_affine(
    inp,
    n_outmaps,
    base_axis=1,
    quantize_zero_to=1.0,
    w_init=None,
    wb_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Dense layer that computes with the signs of its weights times one scale per output.

    Forward writes the signs to the parameter ``Wb`` and the scales, mean magnitudes, to ``alpha``. 0 counts
    as `quantize_zero_to`. Other arguments as in `affine`. Rastegari et al. 2016, XNOR-Net.
    """
    outs, w, wb = _binary("binary_weight_affine", inp, n_outmaps, base_axis, w_init, wb_init, fix_parameters, rng)
    alpha = get_parameter_or_create("alpha", outs, ConstantInitializer(0), False)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.binary_weight_affine(inp, w, wb, alpha, b, base_axis, quantize_zero_to)


@parametric_function_api(
    "inq_affine",
    [
        ("W", "weights", "(inmaps, outmaps)", True),
        ("I", "1 where a weight is fixed", "(inmaps, outmaps)", False),
    ]
    + _BIAS,
)
def inq_affine(
    inp,
    n_outmaps,
    base_axis=1,
    num_bits=4,
    inq_iterations=(),
    selection_algorithm="random",
    seed=-1,
    w_init=None,
    i_init=None,
    b_init=None,
    fix_parameters=False,
    rng=None,
    with_bias=True,
):
    """Dense layer whose weights become powers of two, half of the rest at each iteration of `inq_iterations`.

    `num_bits` holds one for the sign; `selection_algorithm` is "random" or "largest_abs". Other arguments as
    in `affine`. Zhou et al. 2017, Incremental Network Quantization.
    """
    outs, n_in, n_out = dense_shapes("inq_affine", inp, n_outmaps, base_axis)
    w = weight("W", [n_in, *outs], glorot(rng, n_in, n_out) if w_init is None else w_init, fix_parameters)
    fixed = get_parameter_or_create("I", [n_in, *outs], ConstantInitializer() if i_init is None else i_init, False)
    b = bias(outs, b_init, fix_parameters, with_bias)
    return F.inq_affine(inp, w, fixed, b, base_axis, num_bits, inq_iterations, selection_algorithm, seed)


@parametric_function_api("embed", [("W", "one row per input", "(n_inputs, n_features)", True)])
def embed(inp, n_inputs, n_features, initializer=None, fix_parameters=False, apply_w=None):
    """The rows of the embedding matrix that the integers of `inp`, below `n_inputs`, pick.

    They start uniform with standard deviation 1 unless `initializer` says otherwise. `apply_w` is a function
    applied to the matrix; `fix_parameters` keeps gradients from it.
    """
    if initializer is None:
        initializer = UniformInitializer((-np.sqrt(3.0), np.sqrt(3.0)))
    return F.embed(inp, applied(apply_w, weight("W", [n_inputs, n_features], initializer, fix_parameters)))


@parametric_function_api("prelu", [("slope", "negative slope", "() if shared else (inp.shape[base_axis],)", True)])
def prelu(inp, base_axis=1, shared=True, fix_parameters=False, slope_init=None):
    """``max(0, inp) + slope * min(0, inp)`` with one slope, or (not `shared`) one per channel of `base_axis`.

    Slopes start at 0.25 unless `slope_init` says otherwise; `fix_parameters` keeps gradients from them. He et
    al. 2015, https://arxiv.org/abs/1502.01852.
    """
    shape = () if shared else (axis_size("prelu", inp, "base_axis", base_axis),)
    init = ConstantInitializer(0.25) if slope_init is None else slope_init
    return F.prelu(inp, weight("slope", shape, init, fix_parameters), base_axis)
