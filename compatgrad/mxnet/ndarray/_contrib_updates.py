"""Operators of `nd.contrib` that update weights: AdamW, LAMB on several weights, and AdaGrad with a history per row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._docs import sharing
from ..base import MXNetError, _Null
from ._multi_updates import rates
from ._operator import refuse
from ._update_rules import lamb, on_rows
from ._update_steps import check, common, contributed, lamb_constants, number, target, update, update_all, updates
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


def _scale(who: str, rescale_grad: Any) -> float | None:
    # The factor on gradients. None if it is 0 or not finite, which means an overflow: the step is left out.
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


@contributed
def adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: float | NDArray, lr: float, eta: float,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0, clip_gradient: float = -1,
    out: NDArray | None = None, name: str | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight), after the step of both moments.

    Args:
        eta: the factor of the whole step.
        rescale_grad: the factor of the gradient, a number or an NDArray of one; nothing changes if it is 0,
            infinite or NaN.
        wd: the part of the weight that is taken away, times `eta`, apart from the gradient.
        **kwargs: attributes of graphs, named like `__key__`, which change nothing here.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mean, var = nd.zeros((2,)), nd.zeros((2,))
        >>> nd.contrib.adamw_update(w, g, mean, var, rescale_grad=1.0, lr=0.1, eta=1.0, out=w).asnumpy()
        array([0.68377024, 2.3162298 ], dtype=float32)
    """
    refuse("adamw_update", kwargs, ("lr", "beta1", "beta2", "epsilon", "wd", "eta", "clip_gradient"))
    rows, betas = [(lr, wd, eta)], (beta1, beta2, epsilon, clip_gradient)
    return _adamw("adamw_update", rescale_grad, rows, betas, [weight], [grad], [mean], [var], None, [out])[0]


@contributed
def mp_adamw_update(
    weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: float | NDArray,
    lr: float, eta: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, wd: float = 0,
    clip_gradient: float = -1, out: NDArray | None = None, name: str | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """`adamw_update` of the copy `weight32` (float32) of a weight in lower precision.

    Args:
        eta: the factor of the whole step.
        rescale_grad: the factor of the gradient, a number or an NDArray of one; nothing changes if it is 0,
            infinite or NaN.
        wd: the part of the weight that is taken away, times `eta`, apart from the gradient.
        **kwargs: attributes of graphs, named like `__key__`, which change nothing here.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> mean, var, master = nd.zeros((2,)), nd.zeros((2,)), w.astype("float32")
        >>> nd.contrib.mp_adamw_update(w, g, mean, var, master, rescale_grad=1.0, lr=0.1, eta=1.0, out=w).asnumpy()
        array([0.6836, 2.316 ], dtype=float16)
    """
    refuse("mp_adamw_update", kwargs, ("lr", "beta1", "beta2", "epsilon", "wd", "eta", "clip_gradient"))
    rows, betas, masters = [(lr, wd, eta)], (beta1, beta2, epsilon, clip_gradient), [weight32]
    return _adamw("mp_adamw_update", rescale_grad, rows, betas, [weight], [grad], [mean], [var], masters, [out])[0]


def _places(who, weights, out, *lists):
    # the array in `out` for each weight, or None; the lists must have one element for each weight
    for values in lists:
        if values is not None and len(values) != len(weights):
            raise MXNetError(f"{who}: expected {len(weights)} arrays, one for each weight, got {len(values)}")
    outs = [None] * len(weights) if out is None else [out] if isinstance(out, NDArray) else out
    if len(outs) != len(weights):
        raise MXNetError(f"{who}: out: expected {len(weights)} NDArrays, got {len(outs)}")
    return outs


def _multi_adamw(
    who, weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out, beta1=0.9, beta2=0.999, epsilon=1e-8,
    clip_gradient=-1.0, **unknown
):  # fmt: skip
    refuse(who, unknown, ("lrs", "wds", "beta1", "beta2", "epsilon", "etas", "clip_gradient"))
    count = len(weights)
    lrs, wds, etas = rates(who, "lrs", lrs, count), rates(who, "wds", wds, count), rates(who, "etas", etas, count)
    outs = _places(who, weights, out, grads, mean, var, weights32)
    rows = list(zip(lrs, wds, etas, strict=True))
    betas = beta1, beta2, epsilon, clip_gradient
    return _adamw(who, rescale_grad, rows, betas, weights, grads, mean, var, weights32, outs)


_SEVERAL = """
    Args:
        rescale_grad: as in `adamw_update`.
        etas: the factor of the whole step of each weight.
        out: where the new weights are written, instead of new arrays; a list.
        size: the number of weights; may be left out.
        **kwargs: `beta1`, `beta2`, `epsilon` and `clip_gradient` of `adamw_update`.

    Returns:
        A list of NDArrays: those of `out`, or new ones, with the updated weights.
    """


@contributed
@sharing(_SEVERAL)
def multi_adamw_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
    rescale_grad: float | NDArray, lrs: Sequence[float], wds: Sequence[float], etas: Sequence[float],
    out: Sequence[NDArray] | None = None, name: str | None = None, size: int = 0, **kwargs: Any,
) -> list[NDArray]:  # fmt: skip
    """`adamw_update` of several weights: lists of arrays and of numbers; `kwargs` are its other arguments.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mean, var = nd.zeros((2,)), nd.zeros((2,))
        >>> _ = nd.contrib.multi_adamw_update([w], [g], [mean], [var], 1.0, lrs=[0.1], wds=[0.0], etas=[1.0], out=[w])
        >>> w.asnumpy()
        array([0.68377024, 2.3162298 ], dtype=float32)
    """
    return _multi_adamw(
        "multi_adamw_update", weights, grads, mean, var, None, rescale_grad, lrs, wds, etas, out, **kwargs
    )


@contributed
@sharing(_SEVERAL)
def multi_mp_adamw_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
    weights32: Sequence[NDArray], rescale_grad: float | NDArray, lrs: Sequence[float], wds: Sequence[float],
    etas: Sequence[float], out: Sequence[NDArray] | None = None, name: str | None = None, size: int = 0, **kwargs: Any,
) -> list[NDArray]:  # fmt: skip
    """`mp_adamw_update` of several weights: lists of arrays and of numbers.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> mean, var, master = nd.zeros((2,)), nd.zeros((2,)), w.astype("float32")
        >>> arrays = [w], [g], [mean], [var], [master]
        >>> _ = nd.contrib.multi_mp_adamw_update(*arrays, 1.0, lrs=[0.1], wds=[0.0], etas=[1.0], out=[w])
        >>> w.asnumpy()
        array([0.6836, 2.316 ], dtype=float16)
    """
    return _multi_adamw(
        "multi_mp_adamw_update", weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out, **kwargs
    )


def _multi_lamb(
    who, weights, grads, mean, var, weights32, step_count, lrs, wds, out, beta1=0.9, beta2=0.999, epsilon=1e-6,
    rescale_grad=1.0, lower_bound=-1.0, upper_bound=-1.0, clip_gradient=-1.0, bias_correction=True, **unknown
):  # fmt: skip
    refuse(who, unknown, ("learning_rates", "wds", "beta1", "beta2", "epsilon", "rescale_grad", "lower_bound",
                          "upper_bound", "clip_gradient", "bias_correction", "step_count"))  # fmt: skip
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


@contributed
def multi_lamb_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
    step_count: Sequence[int], lrs: Sequence[float], wds: Sequence[float], out: Sequence[NDArray] | None = None,
    num_tensors: int = 0, **kwargs: Any,
) -> list[NDArray]:  # fmt: skip
    """Both phases of LAMB on several weights: lists of arrays and of numbers.

    Args:
        step_count: the number of the update of each weight, from 1.
        out: where the new weights are written, instead of new arrays; a list.
        num_tensors: the number of weights; may be left out.
        **kwargs: `beta1`, `beta2`, `epsilon`, `rescale_grad`, `clip_gradient` and `bias_correction` of
            `lamb_update_phase1`, `lower_bound` and `upper_bound` of `lamb_update_phase2`.

    Returns:
        A list of NDArrays: those of `out`, or new ones, with the updated weights.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> mean, var = nd.zeros((2,)), nd.zeros((2,))
        >>> _ = nd.contrib.multi_lamb_update([w], [g], [mean], [var], [1], lrs=[0.1], wds=[0.0], out=[w])
        >>> w.asnumpy()
        array([0.8418861, 2.158114 ], dtype=float32)
    """
    return _multi_lamb("multi_lamb_update", weights, grads, mean, var, None, step_count, lrs, wds, out, **kwargs)


@contributed
def multi_mp_lamb_update(
    weights: Sequence[NDArray], grads: Sequence[NDArray], mean: Sequence[NDArray], var: Sequence[NDArray],
    weights32: Sequence[NDArray], step_count: Sequence[int], lrs: Sequence[float], wds: Sequence[float],
    out: Sequence[NDArray] | None = None, num_tensors: int = 0, **kwargs: Any,
) -> list[NDArray]:  # fmt: skip
    """`multi_lamb_update` of the copies `weights32` (float32) of weights in lower precision.

    Args:
        step_count: the number of the update of each weight, from 1.
        out: where the new weights are written, instead of new arrays; a list.
        num_tensors: the number of weights; may be left out.
        **kwargs: `beta1`, `beta2`, `epsilon`, `rescale_grad`, `clip_gradient` and `bias_correction` of
            `lamb_update_phase1`, `lower_bound` and `upper_bound` of `lamb_update_phase2`.

    Returns:
        A list of NDArrays: those of `out`, or new ones, with the updated weights.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="float16"), nd.array([1.0, -1.0], dtype="float16")
        >>> mean, var, master = nd.zeros((2,)), nd.zeros((2,)), w.astype("float32")
        >>> arrays = [w], [g], [mean], [var], [master]
        >>> _ = nd.contrib.multi_mp_lamb_update(*arrays, [1], lrs=[0.1], wds=[0.0], out=[w])
        >>> w.asnumpy()
        array([0.842, 2.158], dtype=float16)
    """
    return _multi_lamb(
        "multi_mp_lamb_update", weights, grads, mean, var, weights32, step_count, lrs, wds, out, **kwargs
    )


@partial(updates, shown="sparse.adagrad_update")
def adagrad_update(
    weight: NDArray, grad: NDArray, history: NDArray, lr: float = _Null, epsilon: float = 1e-7, wd: float = 0.0,
    rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """weight - lr * (grad / sqrt(history + epsilon) + wd * weight), after history += grad ** 2.

    Example:
        >>> w, g = nd.array([1.0, 2.0]), nd.array([1.0, -1.0])
        >>> history = nd.zeros((2,))
        >>> nd.sparse.adagrad_update(w, g, history, lr=0.1, out=w).asnumpy()
        array([0.9, 2.1], dtype=float32)
    """
    c = *common("adagrad_update", lr, wd, rescale_grad, clip_gradient), float(epsilon)
    return update("adagrad_update", "mx_adagrad", weight, grad, {"history": history}, c, out)


@contributed
def group_adagrad_update(
    weight: NDArray, grad: NDArray, history: NDArray, lr: float = _Null, rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, epsilon: float = 1e-5, out: NDArray | None = None, name: str | None = None,
) -> NDArray:  # fmt: skip
    """AdaGrad with one history for each row: `history` has shape (rows, 1), the weight (rows, columns).

    Args:
        weight: a floating-point matrix.
        history: the sum of mean squared gradients of each row, shape (rows, 1); changed in place.

    Example:
        >>> w, history = nd.array([[1.0, 2.0]]), nd.zeros((1, 1))
        >>> nd.contrib.group_adagrad_update(w, nd.array([[1.0, -1.0]]), history, lr=0.1, out=w).asnumpy()
        array([[0.9000005, 2.0999994]], dtype=float32)
    """
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
