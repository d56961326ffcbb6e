"""Operators of `nd.contrib` that update weights: AdamW, LAMB on several weights, AdaGrad by rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..base import MXNetError, _Null
from ._multi_updates import rates
from ._operator import register
from ._update_rules import lamb, on_rows
from ._update_steps import check, common, lamb_constants, number, target, update, update_all
from .ndarray import NDArray

__all__ = [
    "adamw_update",
    "adagrad_update",
    "group_adagrad_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]


def _register(function: Callable[..., Any]) -> Callable[..., Any]:
    return register(function, (f"_contrib_{function.__name__}",))


def _scale(who: str, rescale_grad: Any) -> float | None:
    # the factor on gradients, None where the step is to be left out because an overflow made it 0 or not finite
    if isinstance(rescale_grad, NDArray):
        if rescale_grad.size != 1:
            raise MXNetError(f"{who}: argument rescale_grad: expected one element, got shape {rescale_grad.shape}")
        rescale_grad = rescale_grad.asscalar()
    scale = number(who, "rescale_grad", rescale_grad)
    return scale if math.isfinite(scale) and scale else None


def _adamw(who, rescale_grad, rows, betas, weights, grads, means, variances, weights32, outs):
    # rows: learning rate, decay and eta of each weight; betas: beta1, beta2, epsilon, clip_gradient
    scale = _scale(who, rescale_grad)
    if scale is None:
        return [target(who, weight, out) for weight, out in zip(weights, outs, strict=True)]
    *betas, clip_gradient = betas
    rest = tuple(map(float, betas))
    constants = [(*common(who, lr, wd, scale, clip_gradient), *rest, number(who, "eta", eta)) for lr, wd, eta in rows]
    states = [{"mean": mean, "var": var} for mean, var in zip(means, variances, strict=True)]
    return update_all(who, "mx_adamw", weights, grads, states, weights32, constants, outs)


@_register
def adamw_update(
    weight,
    grad,
    mean,
    var,
    rescale_grad,
    lr,
    eta,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0,
    clip_gradient=-1,
    out=None,
    name=None,
    **kwargs,
):
    """weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight), after the step of both moments.

    rescale_grad: a number or an array of one; nothing changes where it is 0 or not finite.
    """
    rows, betas = [(lr, wd, eta)], (beta1, beta2, epsilon, clip_gradient)
    return _adamw("adamw_update", rescale_grad, rows, betas, [weight], [grad], [mean], [var], None, [out])[0]


@_register
def mp_adamw_update(
    weight,
    grad,
    mean,
    var,
    weight32,
    rescale_grad,
    lr,
    eta,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0,
    clip_gradient=-1,
    out=None,
    name=None,
    **kwargs,
):
    """`adamw_update` of the copy `weight32` (float32) of a weight in lower precision."""
    rows, betas, masters = [(lr, wd, eta)], (beta1, beta2, epsilon, clip_gradient), [weight32]
    return _adamw("mp_adamw_update", rescale_grad, rows, betas, [weight], [grad], [mean], [var], masters, [out])[0]


def _places(who, weights, out, *lists):
    # for each weight its place in `out`; the lists must have one for each
    for values in lists:
        if values is not None and len(values) != len(weights):
            raise MXNetError(f"{who}: expected {len(weights)} arrays, one for each weight, got {len(values)}")
    outs = [None] * len(weights) if out is None else [out] if isinstance(out, NDArray) else out
    if len(outs) != len(weights):
        raise MXNetError(f"{who}: out: expected {len(weights)} NDArrays, got {len(outs)}")
    return outs


def _multi_adamw(
    who, weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out, beta1=0.9, beta2=0.999, epsilon=1e-8,
    clip_gradient=-1.0, **_
):  # fmt: skip
    count = len(weights)
    lrs, wds, etas = rates(who, "lrs", lrs, count), rates(who, "wds", wds, count), rates(who, "etas", etas, count)
    outs = _places(who, weights, out, grads, mean, var, weights32)
    rows = list(zip(lrs, wds, etas, strict=True))
    betas = beta1, beta2, epsilon, clip_gradient
    return _adamw(who, rescale_grad, rows, betas, weights, grads, mean, var, weights32, outs)


@_register
def multi_adamw_update(weights, grads, mean, var, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **kwargs):
    """`adamw_update` of several weights: lists of arrays and of numbers; `kwargs` are its other arguments."""
    return _multi_adamw(
        "multi_adamw_update", weights, grads, mean, var, None, rescale_grad, lrs, wds, etas, out, **kwargs
    )


@_register
def multi_mp_adamw_update(
    weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **kwargs
):
    """`mp_adamw_update` of several weights: lists of arrays and of numbers."""
    return _multi_adamw(
        "multi_mp_adamw_update", weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out, **kwargs
    )


def _multi_lamb(
    who, weights, grads, mean, var, weights32, step_count, lrs, wds, out, beta1=0.9, beta2=0.999, epsilon=1e-6,
    rescale_grad=1.0, lower_bound=-1.0, upper_bound=-1.0, clip_gradient=-1.0, bias_correction=True, **_
):  # fmt: skip
    count = len(weights)
    lrs, wds, steps = (
        rates(who, "lrs", lrs, count),
        rates(who, "wds", wds, count),
        rates(who, "step_count", step_count, count),
    )
    outs = _places(who, weights, out, grads, mean, var, weights32)
    if not count:
        return []
    for k, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
        updated = weight if weights32 is None else weights32[k]
        check(who, weight=weight, grad=grad)
        check(who, weight=updated, mean=mean[k], var=var[k])
    ys = [target(who, weight, o) for weight, o in zip(weights, outs, strict=True)]
    updated, copies = (ys, None) if weights32 is None else (weights32, ys)
    constants = [
        lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient)
        for t, wd in zip(steps, wds, strict=True)
    ]
    lamb(who, updated, grads, list(zip(mean, var, strict=True)), constants, lrs, (lower_bound, upper_bound), copies)
    return ys


@_register
def multi_lamb_update(weights, grads, mean, var, step_count, lrs, wds, out=None, num_tensors=0, **kwargs):
    """Both phases of LAMB on several weights: lists of arrays and of numbers.

    beta1, beta2, epsilon, rescale_grad, lower_bound, upper_bound, clip_gradient, bias_correction: as in
    `lamb_update_phase1` and `lamb_update_phase2`.
    """
    return _multi_lamb("multi_lamb_update", weights, grads, mean, var, None, step_count, lrs, wds, out, **kwargs)


@_register
def multi_mp_lamb_update(weights, grads, mean, var, weights32, step_count, lrs, wds, out=None, num_tensors=0, **kwargs):
    """`multi_lamb_update` of the copies `weights32` (float32) of weights in lower precision."""
    return _multi_lamb(
        "multi_mp_lamb_update", weights, grads, mean, var, weights32, step_count, lrs, wds, out, **kwargs
    )


@register
def adagrad_update(
    weight,
    grad,
    history,
    lr=_Null,
    epsilon=1e-7,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
    name=None,
):
    """weight - lr * (grad / sqrt(history + epsilon) + wd * weight), after history += grad ** 2."""
    c = *common("adagrad_update", lr, wd, rescale_grad, clip_gradient), float(epsilon)
    return update("adagrad_update", "mx_adagrad", weight, grad, {"history": history}, c, out)


@_register
def group_adagrad_update(
    weight, grad, history, lr=_Null, rescale_grad=1.0, clip_gradient=-1.0, epsilon=1e-5, out=None, name=None
):
    """AdaGrad with one history for each row: `history` has shape (rows, 1), the weight (rows, columns)."""
    who = "group_adagrad_update"
    check(who, weight=weight, grad=grad)
    lr, _, scale, bound = common(who, lr, 0.0, rescale_grad, clip_gradient)
    if weight.ndim != 2 or history.shape != (weight.shape[0], 1):
        raise MXNetError(f"{who}: expected a weight (rows, columns) and a history (rows, 1), "
                         f"got {weight.shape} and {history.shape}")  # fmt: skip
    y = target(who, weight, out)

    def step(g, x, h):
        scaled = (g.tensor * scale).clamp(-bound, bound)
        h.tensor.add_(scaled.square().mean(1, keepdim=True))
        x.tensor.sub_(scaled * lr / (h.tensor + float(epsilon)).sqrt())

    if grad.stype == "row_sparse":
        on_rows(grad, [y, history], step)
    else:
        step(grad, y, history)
    return y
