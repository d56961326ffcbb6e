"""Operators that update weights: `nd.sgd_update(weight, grad, lr=0.1, out=weight)`.

The states among the arguments change in place. The new weight goes into `out`, which as a rule is the weight itself,
or into a new array. None of them can be differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import MXNetError, _Null
from ._operator import not_an_array, parse, register
from ._update_rules import descend, goes_by_rows, on_rows, power, run_rule
from .ndarray import NDArray

__all__ = [
    "adam_update",
    "ftml_update",
    "ftrl_update",
    "lamb_update_phase1",
    "lamb_update_phase2",
    "mp_lamb_update_phase1",
    "mp_lamb_update_phase2",
    "mp_nag_mom_update",
    "mp_sgd_mom_update",
    "mp_sgd_update",
    "nag_mom_update",
    "rmsprop_update",
    "rmspropalex_update",
    "sgd_mom_update",
    "sgd_update",
    "signsgd_update",
    "signum_update",
]


def number(who: str, name: str, value: Any) -> float:
    """An attribute as a float; MXNetError where it is missing or no number."""
    value = parse(value)
    if value is _Null:
        raise MXNetError(f"Required parameter {name} of float is not presented, in operator {who}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MXNetError(f"{who}: argument {name}: expected a number, got {value!r}") from None


def common(who: str, lr: Any, wd: Any, rescale_grad: Any, clip_gradient: Any) -> tuple[float, float, float, float]:
    """What the constants of every rule start with. A bound of 0 clips to 0, one below is none."""
    clip = number(who, "clip_gradient", clip_gradient)
    lr, wd = number(who, "lr", lr), number(who, "wd", wd)
    return lr, wd, number(who, "rescale_grad", rescale_grad), clip if clip >= 0 else math.inf


def check(who: str, **arrays: Any) -> None:
    """AssertionError for what is no NDArray; MXNetError where types or shapes differ or elements are integers."""
    first = None
    for name, x in arrays.items():
        if not isinstance(x, NDArray):
            raise not_an_array(who, name, x)
        first = x if first is None else first
        if not x.tensor.is_floating_point():
            raise MXNetError(f"{who}: argument {name}: expected floating point elements, got {np.dtype(x.dtype).name}")
        if x.dtype != first.dtype:
            expected, got = np.dtype(first.dtype).name, np.dtype(x.dtype).name
            raise MXNetError(f"{who}: argument {name}: expected elements of type {expected}, got {got}")
        if x.shape != first.shape:
            raise MXNetError(f"{who}: argument {name}: expected shape {first.shape}, got {x.shape}")


def target(who: str, weight: NDArray, out: NDArray | None) -> NDArray:
    """The array that gets the new weight, with the values of `weight`."""
    if out is None:
        return NDArray(weight.tensor.clone())
    if isinstance(out, (list, tuple)) and len(out) == 1:
        (out,) = out
    check(who, weight=weight, out=out)
    out._check_writable()
    if out is not weight:
        out.tensor.copy_(weight.tensor)
    return out


def update(
    who: str,
    rule: str,
    weight: NDArray,
    grad: NDArray,
    states: dict[str, NDArray],
    constants: tuple[float, ...],
    out: NDArray | None,
) -> NDArray:
    """One step of a rule on one weight. Only the rows of a gradient of storage type row_sparse are updated."""
    check(who, weight=weight, grad=grad, **states)
    y = target(who, weight, out)
    arrays = tuple(states.values())
    if goes_by_rows(rule, grad):
        on_rows(grad, [y, *arrays], lambda g, x, *s: run_rule(who, rule, [x], [g], [s], constants))
    else:
        run_rule(who, rule, [y], [grad], [arrays], constants)
    return y


def update_mixed(
    who: str,
    rule: str,
    weight: NDArray,
    grad: NDArray,
    states: dict[str, NDArray],
    weight32: NDArray,
    constants: tuple[float, ...],
    out: NDArray | None,
) -> NDArray:
    """One step of a rule on `weight32`, whose values then go to `out` in the weight's precision."""
    check(who, weight=weight, grad=grad)
    check(who, weight32=weight32, **states)
    y = target(who, weight, out)
    run_rule(who, rule, [weight32], [grad], [tuple(states.values())], constants, True, [y])
    return y


def update_all(
    who: str,
    rule: str,
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[dict[str, NDArray]],
    weights32: Sequence[NDArray] | None,
    constants: list[tuple[float, ...]] | tuple[float, ...],
    outs: Sequence[NDArray | None],
    rates: tuple[NDArray, NDArray] | None = None,
) -> list[NDArray]:
    """`update` of many weights, or `update_mixed` where they have copies in single precision, in one call."""
    for k, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
        if weights32 is None:
            check(who, weight=weight, grad=grad, **states[k])
        else:
            check(who, weight=weight, grad=grad)
            check(who, weight32=weights32[k], **states[k])
    ys = [target(who, weight, out) for weight, out in zip(weights, outs, strict=True)]
    arrays = [tuple(s.values()) for s in states]
    dense = [g if g.stype == "default" else g.tostype("default") for g in grads]
    if weights32 is None:
        run_rule(who, rule, ys, dense, arrays, constants, True, None, rates)
    else:
        run_rule(who, rule, weights32, dense, arrays, constants, True, ys, rates)
    return ys


def sgd_rule(rule: str, constants: tuple[float, ...]) -> str:
    return rule if math.isinf(constants[3]) else rule + "_clip"


def _dense(grad: Any) -> Any:
    return grad.tostype("default") if isinstance(grad, NDArray) else grad


# ---- one weight -----------------------------------------------------------------------------------------------------


@register
def sgd_update(
    weight, grad, lr=_Null, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, lazy_update=True, out=None, name=None
):
    """weight - lr * (rescale_grad * grad + wd * weight), the scaled gradient clipped to +-clip_gradient."""
    c = common("sgd_update", lr, wd, rescale_grad, clip_gradient)
    grad = grad if parse(lazy_update) else _dense(grad)
    return update("sgd_update", sgd_rule("mx_sgd_op", c), weight, grad, {}, c, out)


@register
def sgd_mom_update(
    weight,
    grad,
    mom,
    lr=_Null,
    momentum=0.0,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    lazy_update=True,
    out=None,
    name=None,
):
    """SGD with momentum: mom = momentum * mom - lr * (gradient + wd * weight), which is added to the weight."""
    c = *common("sgd_mom_update", lr, wd, rescale_grad, clip_gradient), number("sgd_mom_update", "momentum", momentum)
    grad = grad if parse(lazy_update) else _dense(grad)
    return update("sgd_mom_update", sgd_rule("mx_sgd_momentum", c), weight, grad, {"mom": mom}, c, out)


@register
def mp_sgd_update(
    weight,
    grad,
    weight32,
    lr=_Null,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    lazy_update=True,
    out=None,
    name=None,
):
    """`sgd_update` of the copy `weight32` (float32) of a weight in lower precision."""
    c = common("mp_sgd_update", lr, wd, rescale_grad, clip_gradient)
    return update_mixed("mp_sgd_update", sgd_rule("mx_sgd_op", c), weight, grad, {}, weight32, c, out)


@register
def mp_sgd_mom_update(
    weight,
    grad,
    mom,
    weight32,
    lr=_Null,
    momentum=0.0,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    lazy_update=True,
    out=None,
    name=None,
):
    """`sgd_mom_update` of the copy `weight32` (float32) of a weight in lower precision."""
    who = "mp_sgd_mom_update"
    c = *common(who, lr, wd, rescale_grad, clip_gradient), number(who, "momentum", momentum)
    return update_mixed(who, sgd_rule("mx_sgd_momentum", c), weight, grad, {"mom": mom}, weight32, c, out)


@register
def nag_mom_update(
    weight,
    grad,
    mom,
    lr=_Null,
    momentum=0.0,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
    name=None,
):
    """SGD with Nesterov's momentum."""
    c = *common("nag_mom_update", lr, wd, rescale_grad, clip_gradient), number("nag_mom_update", "momentum", momentum)
    rule = "mx_nag" if out is weight else "mx_nag_apart"
    return update("nag_mom_update", rule, weight, grad, {"mom": mom}, c, out)


@register
def mp_nag_mom_update(
    weight,
    grad,
    mom,
    weight32,
    lr=_Null,
    momentum=0.0,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
    name=None,
):
    """`nag_mom_update` of the copy `weight32` (float32) of a weight in lower precision."""
    who = "mp_nag_mom_update"
    c = *common(who, lr, wd, rescale_grad, clip_gradient), number(who, "momentum", momentum)
    return update_mixed(who, "mx_nag", weight, grad, {"mom": mom}, weight32, c, out)


@register
def signsgd_update(weight, grad, lr=_Null, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, out=None, name=None):
    """(1 - lr * wd) * weight - lr * sign(grad)."""
    c = common("signsgd_update", lr, wd, rescale_grad, clip_gradient)
    return update("signsgd_update", "mx_signsgd", weight, grad, {}, c, out)


@register
def signum_update(
    weight,
    grad,
    mom,
    lr=_Null,
    momentum=0.0,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    wd_lh=0.0,
    out=None,
    name=None,
):
    """A step of length lr by the sign of the momentum, an average of negative gradients; wd_lh decays the weight."""
    who = "signum_update"
    c = (
        *common(who, lr, wd, rescale_grad, clip_gradient),
        number(who, "momentum", momentum),
        number(who, "wd_lh", wd_lh),
    )
    return update(who, "mx_signum", weight, grad, {"mom": mom}, c, out)


@register
def adam_update(
    weight,
    grad,
    mean,
    var,
    lr=_Null,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    lazy_update=True,
    out=None,
    name=None,
):
    """weight - lr * mean / (sqrt(var) + epsilon), after the step of both moments; lr holds their correction."""
    c = *common("adam_update", lr, wd, rescale_grad, clip_gradient), float(beta1), float(beta2), float(epsilon)
    grad = grad if parse(lazy_update) else _dense(grad)
    return update("adam_update", "mx_adam", weight, grad, {"mean": mean, "var": var}, c, out)


@register
def ftml_update(
    weight,
    grad,
    d,
    v,
    z,
    lr=_Null,
    beta1=0.6,
    beta2=0.999,
    epsilon=1e-8,
    t=_Null,
    wd=0.0,
    rescale_grad=1.0,
    clip_grad=-1.0,
    out=None,
    name=None,
):
    """A step of FTML; `t` is the number of this update."""
    t = number("ftml_update", "t", t)
    betas = float(beta1), float(beta2), float(epsilon), power(beta1, t), power(beta2, t)
    c = *common("ftml_update", lr, wd, rescale_grad, clip_grad), *betas
    return update("ftml_update", "mx_ftml", weight, grad, {"d": d, "v": v, "z": z}, c, out)


@register
def ftrl_update(
    weight,
    grad,
    z,
    n,
    lr=_Null,
    lamda1=0.01,
    beta=1.0,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
    name=None,
):
    """A step of FTRL with the L1 penalty lamda1."""
    c = *common("ftrl_update", lr, wd, rescale_grad, clip_gradient), float(lamda1), float(beta)
    return update("ftrl_update", "mx_ftrl", weight, grad, {"z": z, "n": n}, c, out)


def _bound(value: Any) -> float:
    value = float(value)
    return value if value >= 0 else math.inf


@register
def rmsprop_update(
    weight,
    grad,
    n,
    lr=_Null,
    gamma1=0.95,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    clip_weights=-1.0,
    out=None,
    name=None,
):
    """weight - lr * grad / sqrt(n + epsilon), after the step of n, an average of squared gradients."""
    c = *common("rmsprop_update", lr, wd, rescale_grad, clip_gradient), float(gamma1), float(epsilon)
    return update("rmsprop_update", "mx_rmsprop", weight, grad, {"n": n}, (*c, _bound(clip_weights)), out)


@register
def rmspropalex_update(
    weight,
    grad,
    n,
    g,
    delta,
    lr=_Null,
    gamma1=0.95,
    gamma2=0.9,
    epsilon=1e-8,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    clip_weights=-1.0,
    out=None,
    name=None,
):
    """RMSProp by the standard deviation of gradients, with the momentum gamma2."""
    c = *common("rmspropalex_update", lr, wd, rescale_grad, clip_gradient), float(gamma1), float(epsilon)
    c = *c, _bound(clip_weights), float(gamma2)
    return update("rmspropalex_update", "mx_rmspropalex", weight, grad, {"n": n, "g": g, "delta": delta}, c, out)


def lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient):
    t = number(who, "t", t)
    powers = (power(beta1, t), power(beta2, t)) if parse(bias_correction) else (0.0, 0.0)
    return *common(who, 0.0, wd, rescale_grad, clip_gradient), float(beta1), float(beta2), float(epsilon), *powers


def direction(who, weight, grad, mean, var, constants, out):
    # of LAMB's step
    step = target(who, weight, None) if out is None else out
    run_rule(who, "mx_lamb_direction", [step], [grad], [(mean, var, weight)], constants, True, [None])
    return step


@register
def lamb_update_phase1(
    weight,
    grad,
    mean,
    var,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
    t=_Null,
    bias_correction=True,
    wd=_Null,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
    name=None,
):
    """The direction of LAMB's step, after the step of both moments; `t` is the number of this update."""
    who = "lamb_update_phase1"
    c = lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient)
    check(who, weight=weight, grad=grad, mean=mean, var=var)
    return direction(who, weight, grad, mean, var, c, out)


@register
def mp_lamb_update_phase1(
    weight,
    grad,
    mean,
    var,
    weight32,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
    t=_Null,
    bias_correction=True,
    wd=_Null,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
    name=None,
):
    """`lamb_update_phase1` of the copy `weight32` (float32) of a weight in lower precision; float32."""
    who = "mp_lamb_update_phase1"
    c = lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient)
    check(who, weight=weight, grad=grad)
    check(who, weight32=weight32, mean=mean, var=var)
    return direction(who, weight32, grad, mean, var, c, out)


def step_by_norms(who, weight, g, r1, r2, lr, lower_bound, upper_bound, copy=None):
    ratios = tuple(r.tensor.reshape(1).double() for r in (r1, r2))
    bounds = float(lower_bound), float(upper_bound)
    descend(who, [weight], [g], ratios, [number(who, "lr", lr)], bounds, None if copy is None else [copy])


@register
def lamb_update_phase2(weight, g, r1, r2, lr=_Null, lower_bound=-1.0, upper_bound=-1.0, out=None, name=None):
    """weight - lr * r1 / r2 * g, where r1 is the weight's norm (kept within the bounds) and r2 that of g."""
    check("lamb_update_phase2", weight=weight, g=g)
    check("lamb_update_phase2", r1=r1, r2=r2)
    y = target("lamb_update_phase2", weight, out)
    step_by_norms("lamb_update_phase2", y, g, r1, r2, lr, lower_bound, upper_bound)
    return y


@register
def mp_lamb_update_phase2(
    weight, g, r1, r2, weight32, lr=_Null, lower_bound=-1.0, upper_bound=-1.0, out=None, name=None
):
    """`lamb_update_phase2` of the copy `weight32` (float32) of a weight in lower precision."""
    check("mp_lamb_update_phase2", weight32=weight32, g=g)
    check("mp_lamb_update_phase2", r1=r1, r2=r2)
    y = target("mp_lamb_update_phase2", weight, out)
    step_by_norms("mp_lamb_update_phase2", weight32, g, r1, r2, lr, lower_bound, upper_bound, y)
    return y
