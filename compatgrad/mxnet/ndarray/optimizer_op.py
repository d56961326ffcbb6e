"""Operators that update weights: `nd.sgd_update(weight, grad, lr=0.1, out=weight)`.

The states among the arguments change in place. The new weight goes into `out`, which is usually the weight itself,
or into a new array. None of them can be differentiated.
"""

from __future__ import annotations

from ..base import _Null
from ._operator import parse
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
    updates,
)
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


# ---- one weight -----------------------------------------------------------------------------------------------------


@updates
def sgd_update(
    weight: NDArray, grad: NDArray, lr: float = _Null, wd: float = 0.0, rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """weight - lr * (rescale_grad * grad + wd * weight), the scaled gradient clipped to +-clip_gradient.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> nd.sgd_update(w, g, lr=0.5, out=w).asnumpy()
        array([0.5, 2.5], dtype=float32)
    """
    c = common("sgd_update", lr, wd, rescale_grad, clip_gradient)
    grad = grad if parse(lazy_update) else dense_of(grad)
    return update("sgd_update", sgd_rule("mx_sgd_op", c), weight, grad, {}, c, out)


@updates
def sgd_mom_update(
    weight: NDArray, grad: NDArray, mom: NDArray, lr: float = _Null, momentum: float = 0.0, wd: float = 0.0,
    rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:  # fmt: skip
    """SGD with momentum: mom = momentum * mom - lr * (gradient + wd * weight), which is added to the weight.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mom = nd.zeros((2,))
        >>> nd.sgd_mom_update(w, g, mom, lr=0.5, momentum=0.9, out=w).asnumpy()
        array([0.5, 2.5], dtype=float32)
        >>> mom.asnumpy()
        array([-0.5,  0.5], dtype=float32)
    """
    c = *common("sgd_mom_update", lr, wd, rescale_grad, clip_gradient), number("sgd_mom_update", "momentum", momentum)
    grad = grad if parse(lazy_update) else dense_of(grad)
    return update("sgd_mom_update", sgd_rule("mx_sgd_momentum", c), weight, grad, {"mom": mom}, c, out)


@updates
def mp_sgd_update(
    weight: NDArray, grad: NDArray, weight32: NDArray, lr: float = _Null, wd: float = 0.0, rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """`sgd_update` of the copy `weight32` (float32) of a weight in lower precision.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> master = w.astype("float32")
        >>> nd.mp_sgd_update(w, g, master, lr=0.5, out=w).asnumpy()
        array([0.5, 2.5], dtype=float16)
    """
    c = common("mp_sgd_update", lr, wd, rescale_grad, clip_gradient)
    return update_mixed("mp_sgd_update", sgd_rule("mx_sgd_op", c), weight, grad, {}, weight32, c, out)


@updates
def mp_sgd_mom_update(
    weight: NDArray, grad: NDArray, mom: NDArray, weight32: NDArray, lr: float = _Null, momentum: float = 0.0,
    wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True,
    out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """`sgd_mom_update` of the copy `weight32` (float32) of a weight in lower precision.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> mom, master = nd.zeros((2,)), w.astype("float32")
        >>> nd.mp_sgd_mom_update(w, g, mom, master, lr=0.5, momentum=0.9, out=w).asnumpy()
        array([0.5, 2.5], dtype=float16)
    """
    who = "mp_sgd_mom_update"
    c = *common(who, lr, wd, rescale_grad, clip_gradient), number(who, "momentum", momentum)
    return update_mixed(who, sgd_rule("mx_sgd_momentum", c), weight, grad, {"mom": mom}, weight32, c, out)


@updates
def nag_mom_update(
    weight: NDArray, grad: NDArray, mom: NDArray, lr: float = _Null, momentum: float = 0.0, wd: float = 0.0,
    rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """SGD with Nesterov's momentum.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mom = nd.zeros((2,))
        >>> nd.nag_mom_update(w, g, mom, lr=0.5, momentum=0.9, out=w).asnumpy()
        array([0.05000001, 2.95      ], dtype=float32)
    """
    c = *common("nag_mom_update", lr, wd, rescale_grad, clip_gradient), number("nag_mom_update", "momentum", momentum)
    rule = "mx_nag" if out is weight else "mx_nag_apart"
    return update("nag_mom_update", rule, weight, grad, {"mom": mom}, c, out)


@updates
def mp_nag_mom_update(
    weight: NDArray, grad: NDArray, mom: NDArray, weight32: NDArray, lr: float = _Null, momentum: float = 0.0,
    wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:  # fmt: skip
    """`nag_mom_update` of the copy `weight32` (float32) of a weight in lower precision.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> mom, master = nd.zeros((2,)), w.astype("float32")
        >>> nd.mp_nag_mom_update(w, g, mom, master, lr=0.5, momentum=0.9, out=w).asnumpy()
        array([0.05, 2.95], dtype=float16)
    """
    who = "mp_nag_mom_update"
    c = *common(who, lr, wd, rescale_grad, clip_gradient), number(who, "momentum", momentum)
    return update_mixed(who, "mx_nag", weight, grad, {"mom": mom}, weight32, c, out)


@updates
def signsgd_update(
    weight: NDArray, grad: NDArray, lr: float = _Null, wd: float = 0.0, rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """(1 - lr * wd) * weight - lr * sign(grad).

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> nd.signsgd_update(w, g, lr=0.5, out=w).asnumpy()
        array([0.5, 2.5], dtype=float32)
    """
    c = common("signsgd_update", lr, wd, rescale_grad, clip_gradient)
    return update("signsgd_update", "mx_signsgd", weight, grad, {}, c, out)


@updates
def signum_update(
    weight: NDArray, grad: NDArray, mom: NDArray, lr: float = _Null, momentum: float = 0.0, wd: float = 0.0,
    rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:  # fmt: skip
    """A step of length lr in the direction of the momentum's sign; the momentum is an average of negative gradients.

    Args:
        wd_lh: the part of the weight that is taken away, times `lr`, apart from the gradient.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mom = nd.zeros((2,))
        >>> nd.signum_update(w, g, mom, lr=0.5, momentum=0.9, out=w).asnumpy()
        array([0.5, 2.5], dtype=float32)
    """
    who = "signum_update"
    c = (
        *common(who, lr, wd, rescale_grad, clip_gradient),
        number(who, "momentum", momentum),
        number(who, "wd_lh", wd_lh),
    )
    return update(who, "mx_signum", weight, grad, {"mom": mom}, c, out)


@updates
def adam_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float = _Null, beta1: float = 0.9,
    beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0.0, rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, lazy_update: bool = True, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """weight - lr * mean / (sqrt(var) + epsilon), after the step of both moments; lr holds their correction.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mean, var = nd.zeros((2,)), nd.zeros((2,))
        >>> nd.adam_update(w, g, mean, var, lr=0.1, out=w).asnumpy()
        array([0.68377024, 2.3162298 ], dtype=float32)
    """
    c = *common("adam_update", lr, wd, rescale_grad, clip_gradient), float(beta1), float(beta2), float(epsilon)
    grad = grad if parse(lazy_update) else dense_of(grad)
    return update("adam_update", "mx_adam", weight, grad, {"mean": mean, "var": var}, c, out)


@updates
def ftml_update(
    weight: NDArray, grad: NDArray, d: NDArray, v: NDArray, z: NDArray, lr: float = _Null, beta1: float = 0.6,
    beta2: float = 0.999, epsilon: float = 1e-8, t: int = _Null, wd: float = 0.0, rescale_grad: float = 1.0,
    clip_grad: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """A step of FTML; `t` is the number of this update.

    Args:
        d: the denominators, of the shape of `weight`; changed in place.
        v: the running mean of squared gradients, of the shape of `weight`; changed in place.
        z: the running mean of shifted gradients, of the shape of `weight`; changed in place.
        beta1: the part of `z` that is kept.
        beta2: the part of `v` that is kept.
        t: the number of this update, from 1.
        clip_grad: as `clip_gradient` of `sgd_update`.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> d, v, z = nd.zeros((2,)), nd.zeros((2,)), nd.zeros((2,))
        >>> nd.ftml_update(w, g, d, v, z, lr=0.1, t=1, out=w).asnumpy()
        array([0.90000004, 2.1000001 ], dtype=float32)
    """
    t = number("ftml_update", "t", t)
    betas = float(beta1), float(beta2), float(epsilon), power(beta1, t), power(beta2, t)
    c = *common("ftml_update", lr, wd, rescale_grad, clip_grad), *betas
    return update("ftml_update", "mx_ftml", weight, grad, {"d": d, "v": v, "z": z}, c, out)


@updates
def ftrl_update(
    weight: NDArray, grad: NDArray, z: NDArray, n: NDArray, lr: float = _Null, lamda1: float = 0.01, beta: float = 1.0,
    wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:  # fmt: skip
    """A step of FTRL with the L1 penalty lamda1.

    Args:
        z: the sum of gradients less what the weights moved, of the shape of `weight`; changed in place.
        n: the sum of squared gradients, of the shape of `weight`; changed in place.
        lamda1: the factor of the L1 penalty: a weight whose `z` is not larger becomes 0.
        beta: added to the square root of `n`.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> z, n = nd.zeros((2,)), nd.zeros((2,))
        >>> nd.ftrl_update(w, g, z, n, lr=0.1, out=w).asnumpy()
        array([0.4495, 1.0495], dtype=float32)
    """
    c = *common("ftrl_update", lr, wd, rescale_grad, clip_gradient), float(lamda1), float(beta)
    return update("ftrl_update", "mx_ftrl", weight, grad, {"z": z, "n": n}, c, out)


@updates
def rmsprop_update(
    weight: NDArray, grad: NDArray, n: NDArray, lr: float = _Null, gamma1: float = 0.95, epsilon: float = 1e-8,
    wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0,
    out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """weight - lr * grad / sqrt(n + epsilon), after the step of n, an average of squared gradients.

    Args:
        n: the running mean of squared gradients, of the shape of `weight`; changed in place.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> n = nd.zeros((2,))
        >>> nd.rmsprop_update(w, g, n, lr=0.1, out=w).asnumpy()
        array([0.5527865, 2.4472134], dtype=float32)
    """
    c = *common("rmsprop_update", lr, wd, rescale_grad, clip_gradient), float(gamma1), float(epsilon)
    return update("rmsprop_update", "mx_rmsprop", weight, grad, {"n": n}, (*c, bound(clip_weights)), out)


@updates
def rmspropalex_update(
    weight: NDArray, grad: NDArray, n: NDArray, g: NDArray, delta: NDArray, lr: float = _Null, gamma1: float = 0.95,
    gamma2: float = 0.9, epsilon: float = 1e-8, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0,
    clip_weights: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """RMSProp by the standard deviation of gradients, with the momentum gamma2.

    Args:
        n: the running mean of squared gradients, of the shape of `weight`; changed in place.
        g: the running mean of gradients, of the shape of `weight`; changed in place.
        delta: the last step, of the shape of `weight`; changed in place.
        gamma2: the part of `delta` that is kept.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> n, mean, delta = nd.zeros((2,)), nd.zeros((2,)), nd.zeros((2,))
        >>> nd.rmspropalex_update(w, g, n, mean, delta, lr=0.1, out=w).asnumpy()
        array([0.54116863, 2.4588313 ], dtype=float32)
    """
    c = *common("rmspropalex_update", lr, wd, rescale_grad, clip_gradient), float(gamma1), float(epsilon)
    c = *c, bound(clip_weights), float(gamma2)
    return update("rmspropalex_update", "mx_rmspropalex", weight, grad, {"n": n, "g": g, "delta": delta}, c, out)


@updates
def lamb_update_phase1(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, beta1: float = 0.9, beta2: float = 0.999,
    epsilon: float = 1e-6, t: int = _Null, bias_correction: bool = True, wd: float = _Null, rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """The direction of LAMB's step, after the step of both moments; `t` is the number of this update.

    Args:
        t: the number of this update, from 1.
        out: where the direction is written, instead of a new array.

    Returns:
        NDArray: the direction, of the shape and dtype of `weight`, which `lamb_update_phase2` takes as `g`.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> nd.lamb_update_phase1(w, g, nd.zeros((2,)), nd.zeros((2,)), t=1, wd=0.0).asnumpy()
        array([ 0.99999905, -0.99999905], dtype=float32)
    """
    who = "lamb_update_phase1"
    c = lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient)
    check(who, weight=weight, grad=grad, mean=mean, var=var)
    return direction(who, weight, grad, mean, var, c, out)


@updates
def mp_lamb_update_phase1(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, beta1: float = 0.9,
    beta2: float = 0.999, epsilon: float = 1e-6, t: int = _Null, bias_correction: bool = True, wd: float = _Null,
    rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """`lamb_update_phase1` of the copy `weight32` (float32) of a weight in lower precision; float32.

    Args:
        weight32: the weight in float32.
        t: the number of this update, from 1.
        out: where the direction is written, instead of a new array.

    Returns:
        NDArray: the direction, float32, of the shape of `weight`, which `mp_lamb_update_phase2` takes as `g`.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> nd.mp_lamb_update_phase1(w, g, nd.zeros((2,)), nd.zeros((2,)), w.astype("float32"), t=1, wd=0.0).asnumpy()
        array([ 0.99999905, -0.99999905], dtype=float32)
    """
    who = "mp_lamb_update_phase1"
    c = lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient)
    check(who, weight=weight, grad=grad)
    check(who, weight32=weight32, mean=mean, var=var)
    return direction(who, weight32, grad, mean, var, c, out)


@updates
def lamb_update_phase2(
    weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, lr: float = _Null, lower_bound: float = -1.0,
    upper_bound: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """weight - lr * r1 / r2 * g, where r1 is the weight's norm (kept within the bounds) and r2 that of g.

    Args:
        g: the direction of the step, from `lamb_update_phase1`.

    Example:
        >>> w, g = nd.array([3.0, 4.0]), nd.array([1.0, 0.0])
        >>> nd.lamb_update_phase2(w, g, w.norm(), g.norm(), lr=0.1, out=w).asnumpy()
        array([2.5, 4. ], dtype=float32)
    """
    check("lamb_update_phase2", weight=weight, g=g)
    check("lamb_update_phase2", r1=r1, r2=r2)
    y = target("lamb_update_phase2", weight, out)
    step_by_norms("lamb_update_phase2", y, g, r1, r2, lr, lower_bound, upper_bound)
    return y


@updates
def mp_lamb_update_phase2(
    weight: NDArray, g: NDArray, r1: NDArray, r2: NDArray, weight32: NDArray, lr: float = _Null,
    lower_bound: float = -1.0, upper_bound: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """`lamb_update_phase2` of the copy `weight32` (float32) of a weight in lower precision.

    Args:
        g: the direction of the step, from `mp_lamb_update_phase1`.

    Example:
        >>> w, g = nd.array([3.0, 4.0], dtype="float16"), nd.array([1.0, 0.0])
        >>> master = w.astype("float32")
        >>> nd.mp_lamb_update_phase2(w, g, master.norm(), g.norm(), master, lr=0.1, out=w).asnumpy()
        array([2.5, 4. ], dtype=float16)
    """
    check("mp_lamb_update_phase2", weight32=weight32, g=g)
    check("mp_lamb_update_phase2", r1=r1, r2=r2)
    y = target("mp_lamb_update_phase2", weight, out)
    step_by_norms("mp_lamb_update_phase2", weight32, g, r1, r2, lr, lower_bound, upper_bound, y)
    return y
