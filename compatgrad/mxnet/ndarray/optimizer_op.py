"""Operators that update weights: `nd.sgd_update(weight, grad, lr=0.1, out=weight)`.

The states among the arguments change in place. The new weight goes into `out`, which as a rule is the weight itself,
or into a new array. None of them can be differentiated.
"""

from __future__ import annotations

from ..base import _Null
from ._operator import parse, register
from ._update_rules import power
from ._update_steps import (
    bound,
    check,
    common,
    dense_of,
    direction,
    lamb_constants,
    number,
    sgd_rule,
    step_by_norms,
    target,
    update,
    update_mixed,
)

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


# ---- one weight -----------------------------------------------------------------------------------------------------


@register
def sgd_update(
    weight, grad, lr=_Null, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, lazy_update=True, out=None, name=None
):
    """weight - lr * (rescale_grad * grad + wd * weight), the scaled gradient clipped to +-clip_gradient."""
    c = common("sgd_update", lr, wd, rescale_grad, clip_gradient)
    grad = grad if parse(lazy_update) else dense_of(grad)
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
    grad = grad if parse(lazy_update) else dense_of(grad)
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
    grad = grad if parse(lazy_update) else dense_of(grad)
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
    return update("rmsprop_update", "mx_rmsprop", weight, grad, {"n": n}, (*c, bound(clip_weights)), out)


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
    c = *c, bound(clip_weights), float(gamma2)
    return update("rmspropalex_update", "mx_rmspropalex", weight, grad, {"n": n, "g": g, "delta": delta}, c, out)


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
