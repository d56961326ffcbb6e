"""Operators that update several weights at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..base import MXNetError, _Null
from ._operator import parse
from ._update_steps import check, common, number, sgd_rule, update_all, updates
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
    """Splits a flat list, with `size` arrays for each of `count` weights, into `size` tuples of `count` arrays."""
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
        # rates that are arrays stay on their device: reading them would wait for it
        results = update_all(who, rule, weights, grads, states, masters, (0.0, 0.0, *rest), outs, (lrs, wds))
    else:
        each = zip(rates(who, "lrs", lrs, count), rates(who, "wds", wds, count), strict=True)
        constants = [(lr, wd, *rest) for lr, wd in each]
        results = update_all(who, rule, weights, grads, states, masters, constants, outs)
    return results[0] if count == 1 and out is None else results


def _declare(prefix: str, mixed: bool, has_momentum: bool) -> Callable[..., Any]:
    # declares one of the eight operators multi_sgd_update, multi_mp_sgd_mom_update and so on
    size = 2 + mixed + has_momentum
    preloaded = prefix == "preloaded_multi_"
    who = f"{prefix}{'mp_' if mixed else ''}sgd_{'mom_' if has_momentum else ''}update"

    def multi_update(
        *data: Any,
        lrs: Any = _Null,
        wds: Any = _Null,
        momentum: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        num_weights: int = 1,
        out: NDArray | Sequence[NDArray] | None = None,
        name: str | None = None,
    ) -> NDArray | list[NDArray]:
        if preloaded:
            *data, lrs, wds = data[0] if len(data) == 1 else data
        groups = grouped(who, data, num_weights, size)
        used = momentum if has_momentum else None
        return _multi(who, groups, lrs, wds, rescale_grad, clip_gradient, used, mixed, out)

    names = ["weight", "grad", *(["mom"] if has_momentum else []), *(["weight32"] if mixed else [])]
    multi_update.__name__ = multi_update.__qualname__ = who
    multi_update.__doc__ = _described(who, who.removeprefix(prefix), names, preloaded)
    return updates(multi_update, returns="A list of the updated weights; without `out`, the only weight itself.")


_MADE = {"mom": "nd.zeros((2,))", "weight32": 'w.astype("float32")'}


def _described(who: str, one: str, names: list[str], preloaded: bool) -> str:
    # `one`: the operator that updates one weight
    given = "".join(f", {_MADE[name]}" for name in names[2:])
    half = "float16" if "weight32" in names else "float32"
    numbers = ", nd.array([0.5]), nd.array([0.0])" if preloaded else ", lrs=[0.5], wds=[0.0]"
    taken = "without effect: the array in `data` is taken." if preloaded else "a number for each weight."
    at_end = "Then learning rates and weight decays, shape (num_weights,) each. " if preloaded else ""
    return f"""`{one}` of `num_weights` weights in one call.

    Args:
        data: {", ".join(names)} of the first weight, of the second one, and so on.
            {at_end}A list of all may be given as the only argument.
        lrs: learning rates; {taken}
        wds: weight decays; {taken}
        momentum: {"the part of the momentum that is kept." if "mom" in names else "without effect."}
        out: where the new weights are written, instead of new arrays; a list for several weights.

    Example:
        >>> w, g = nd.array([1.0, 2.0], dtype="{half}"), nd.array([1.0, -1.0], dtype="{half}")
        >>> arrays = [w, g{given}]
        >>> _ = nd.{who}(*arrays{numbers}, out=w)
        >>> w.asnumpy()
        array([0.5, 2.5], dtype={half})
    """


multi_sgd_update = _declare("multi_", False, False)
multi_sgd_mom_update = _declare("multi_", False, True)
multi_mp_sgd_update = _declare("multi_", True, False)
multi_mp_sgd_mom_update = _declare("multi_", True, True)
preloaded_multi_sgd_update = _declare("preloaded_multi_", False, False)
preloaded_multi_sgd_mom_update = _declare("preloaded_multi_", False, True)
preloaded_multi_mp_sgd_update = _declare("preloaded_multi_", True, False)
preloaded_multi_mp_sgd_mom_update = _declare("preloaded_multi_", True, True)


@updates
def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float = _Null,
    eps: float = _Null,
    rescale_grad: float = 1.0,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Learning rates scaled as LARS does it, from the sums of squares of weights and gradients.

    A rate is multiplied by eta * |weight| / (|rescale_grad * gradient| + wd * |weight| + eps), unless one of both norms
    is 0.

    Args:
        lrs: the learning rate of each weight, shape (N,).
        weights_sum_sq: the sum of the squared elements of each weight, shape (N,); see `multi_sum_sq`.
        grads_sum_sq: the sum of the squared elements of each gradient, shape (N,).
        wds: the weight decay of each weight, shape (N,).
        eta: the factor of all rates.
        eps: added to the denominator.

    Returns:
        NDArray: `out`, or a new array, with the scaled rates, shape (N,).

    Raises:
        AssertionError: an array is no NDArray.
        mxnet.base.MXNetError: shapes or dtypes differ, or `eta` or `eps` is missing.

    Example:
        >>> lrs, wds, of_weights, of_grads = nd.array([0.5]), nd.array([0.0]), nd.array([4.0]), nd.array([16.0])
        >>> nd.multi_lars(lrs, of_weights, of_grads, wds, eta=0.1, eps=0.0).asnumpy()
        array([0.025], dtype=float32)
    """
    check("multi_lars", lrs=lrs, weights_sum_sq=weights_sum_sq, grads_sum_sq=grads_sum_sq, wds=wds)
    eta, eps = number("multi_lars", "eta", eta), number("multi_lars", "eps", eps)
    of_weight, of_grad = weights_sum_sq.tensor.sqrt(), grads_sum_sq.tensor.sqrt()
    ratio = eta * of_weight / (of_grad * float(rescale_grad) + wds.tensor * of_weight + eps)
    y = NDArray(torch.where((of_weight > 0) & (of_grad > 0), lrs.tensor * ratio, lrs.tensor))
    return y if out is None else out._take(y)
