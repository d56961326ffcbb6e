"""Operators that update several weights at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..base import MXNetError, _Null
from ._operator import parse, register
from ._update_steps import check, common, number, sgd_rule, update_all
from .ndarray import NDArray

__all__ = [
    "multi_lars",
    "multi_mp_sgd_mom_update",
    "multi_mp_sgd_update",
    "multi_sgd_mom_update",
    "multi_sgd_update",
    "preloaded_multi_mp_sgd_mom_update",
    "preloaded_multi_mp_sgd_update",
    "preloaded_multi_sgd_mom_update",
    "preloaded_multi_sgd_update",
]


def grouped(who: str, data: Sequence[NDArray], count: Any, size: int) -> list[tuple[NDArray, ...]]:
    """Arrays of `count` weights, which follow each other by `size`, as tuples of these."""
    if len(data) == 1 and isinstance(data[0], (list, tuple)):
        (data,) = data
    count = int(parse(count))
    if len(data) != count * size:
        raise MXNetError(f"Operator {who} expects {count * size} inputs ({size} for each weight), got {len(data)}")
    return [tuple(data[i : i + size]) for i in range(0, len(data), size)]


def rates(who: str, name: str, values: Any, count: int) -> list[float]:
    values = parse(values)
    if isinstance(values, NDArray):
        values = values.asnumpy().tolist()
    if values is _Null:
        raise MXNetError(f"Required parameter {name} of tuple of <float> is not presented, in operator {who}")
    values = [float(v) for v in (values if isinstance(values, (list, tuple, np.ndarray)) else [values])]
    if len(values) != count:
        raise MXNetError(f"{who}: argument {name}: expected {count} numbers, one for each weight, got {len(values)}")
    return values


def _multi(who, groups, lrs, wds, rescale_grad, clip_gradient, momentum, mixed, out):
    count = len(groups)
    if isinstance(out, NDArray):
        out = [out]
    if out is not None and len(out) != count:
        raise MXNetError(f"{who}: out: expected {count} NDArrays, got {len(out)}")
    outs = [None] * count if out is None else out
    weights, grads = [g[0] for g in groups], [g[1] for g in groups]
    masters = [g[-1] for g in groups] if mixed else None
    states = [{} if momentum is None else {"mom": g[2]} for g in groups]
    start = common(who, 0.0, 0.0, rescale_grad, clip_gradient)
    rest = start[2:] if momentum is None else (*start[2:], number(who, "momentum", momentum))
    rule = sgd_rule("mx_sgd" if momentum is None else "mx_sgd_momentum", start)
    if all(isinstance(x, NDArray) and x.dtype == np.float32 and x.shape == (count,) for x in (lrs, wds)):
        # numbers that are on the device stay there
        results = update_all(who, rule, weights, grads, states, masters, (0.0, 0.0, *rest), outs, (lrs, wds))
    else:
        each = zip(rates(who, "lrs", lrs, count), rates(who, "wds", wds, count), strict=True)
        constants = [(lr, wd, *rest) for lr, wd in each]
        results = update_all(who, rule, weights, grads, states, masters, constants, outs)
    return results[0] if count == 1 and out is None else results


def _declare(prefix: str, mixed: bool, has_momentum: bool) -> Callable[..., Any]:
    # multi_sgd_update and its seven relatives
    size = 2 + mixed + has_momentum
    preloaded = prefix == "preloaded_multi_"
    who = f"{prefix}{'mp_' if mixed else ''}sgd_{'mom_' if has_momentum else ''}update"

    def multi_update(
        *data,
        lrs=_Null,
        wds=_Null,
        momentum=0.0,
        rescale_grad=1.0,
        clip_gradient=-1.0,
        num_weights=1,
        out=None,
        name=None,
    ):
        if preloaded:
            *data, lrs, wds = data[0] if len(data) == 1 else data
        groups = grouped(who, data, num_weights, size)
        used = momentum if has_momentum else None
        return _multi(who, groups, lrs, wds, rescale_grad, clip_gradient, used, mixed, out)

    names = ["weight", "grad", *(["mom"] if has_momentum else []), *(["weight32"] if mixed else [])]
    multi_update.__name__ = multi_update.__qualname__ = who
    multi_update.__doc__ = (
        f"SGD{' with momentum' if has_momentum else ''} of `num_weights` weights: for each {', '.join(names)}, in this "
        f"order. lrs, wds: a number for each{', as two arrays at the end' if preloaded else ''}."
    )
    return register(multi_update)


multi_sgd_update = _declare("multi_", False, False)
multi_sgd_mom_update = _declare("multi_", False, True)
multi_mp_sgd_update = _declare("multi_", True, False)
multi_mp_sgd_mom_update = _declare("multi_", True, True)
preloaded_multi_sgd_update = _declare("preloaded_multi_", False, False)
preloaded_multi_sgd_mom_update = _declare("preloaded_multi_", False, True)
preloaded_multi_mp_sgd_update = _declare("preloaded_multi_", True, False)
preloaded_multi_mp_sgd_mom_update = _declare("preloaded_multi_", True, True)


@register
def multi_lars(lrs, weights_sum_sq, grads_sum_sq, wds, eta=_Null, eps=_Null, rescale_grad=1.0, out=None, name=None):
    """Learning rates scaled as LARS does it, from the sums of squares of weights and gradients; (N,) each."""
    check("multi_lars", lrs=lrs, weights_sum_sq=weights_sum_sq, grads_sum_sq=grads_sum_sq, wds=wds)
    eta, eps = number("multi_lars", "eta", eta), number("multi_lars", "eps", eps)
    of_weight, of_grad = weights_sum_sq.tensor.sqrt(), grads_sum_sq.tensor.sqrt()
    ratio = eta * of_weight / (of_grad * float(rescale_grad) + wds.tensor * of_weight + eps)
    y = NDArray(torch.where((of_weight > 0) & (of_grad > 0), lrs.tensor * ratio, lrs.tensor))
    return y if out is None else out._take(y)
