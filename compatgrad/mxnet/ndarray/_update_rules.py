"""Calls of the compiled update rules, for the operators that update weights and for the optimizers.

The constants of every rule begin with the learning rate, the weight decay, the factor on the gradient and the bound of
its elements (infinity for none); csrc/kernels/optim_rules_mxnet.h lists the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from compatgrad import _C

from ..base import MXNetError
from .ndarray import NDArray

_step = _C.optim_step


def run_rule(
    who: str,
    rule: str,
    weights: Sequence[Any],
    grads: Sequence[Any],
    states: Sequence[Any],
    constants: Any,
    rounds: bool = True,
    copies: Sequence[Any] | None = None,
    rates: tuple[Any, Any] | None = None,
) -> None:
    """Changes weights and states in place. `states` has an array, a sequence of arrays or None for each weight.

    constants: a tuple for all weights, or a list with one for each; `rounds` converts them to single precision. copies:
    for each weight in single precision an array of half precision that gets its values, or None; gradients may then be
    of half precision. rates: two arrays with the learning rate and the decay of each weight, which replace those in
    the constants. MXNetError, which names `who`, where shapes, dtypes or devices do not fit.
    """
    try:
        _step(rule, weights, grads, states, constants, rounds, copies, rates)
    except (ValueError, RuntimeError, TypeError) as e:
        shown = "; ".join(
            f"weight {np.dtype(w.dtype).name}{list(w.shape)}, gradient {np.dtype(g.dtype).name}{list(g.shape)}"
            for w, g in zip(weights, grads, strict=False)
            if hasattr(w, "shape") and hasattr(g, "shape")
        )
        raise MXNetError(f"Error in operator {who}: {e} ({shown})") from None


def power(beta: float, t: float) -> float:
    """beta ** t, computed in single precision."""
    return float(np.float32(np.float64(np.float32(beta)) ** t))


# rules that update only the rows that a row_sparse gradient stores; others treat such a gradient as dense
_BY_ROWS = {"mx_sgd", "mx_sgd_op", "mx_sgd_momentum", "mx_adam", "mx_ftrl", "mx_adagrad"}


def goes_by_rows(rule: str, grad: Any) -> bool:
    """Whether the rule updates only the rows that the gradient stores."""
    return grad.stype == "row_sparse" and rule.removesuffix("_clip") in _BY_ROWS


def on_rows(grad: Any, arrays: Sequence[Any], run: Any) -> None:
    """Calls `run(gradient, *parts)` on copies of the rows that a row_sparse gradient stores, and writes them back into
    the arrays. None stays None.
    """
    rows = grad.indices.tensor.long()
    if not len(rows):
        return
    parts = [None if a is None else NDArray(a.tensor[rows]) for a in arrays]
    run(grad.data, *parts)
    for array, part in zip(arrays, parts, strict=True):
        if array is not None:
            array.tensor[rows] = part.tensor


def norms(arrays: Sequence[Any]) -> torch.Tensor:
    """The Euclidean norms of arrays on one device: a float64 tensor (arrays,) on that device."""
    return _C.optim_sums(arrays, False).sqrt()


def descend(
    who: str,
    weights: Sequence[Any],
    steps: Sequence[Any],
    ratios: tuple[torch.Tensor, torch.Tensor],
    lrs: Sequence[float],
    bounds: tuple[float | None, float | None],
    copies: Sequence[Any] | None = None,
) -> None:
    """Makes LAMB's steps, scaled by the ratio of the weight's norm, clipped to `bounds`, to the step's norm; the ratio
    is 1 where one of them is 0.

    ratios: the norms of weights, and those of steps. Bounds that are None or negative do not count. The ratios stay on
    the device, so that nothing waits for a GPU.
    """
    of_weight, of_step = ratios
    of_weight = of_weight.clamp(*[None if b is None or b < 0 else b for b in bounds]) if _given(bounds) else of_weight
    valid = (of_weight != 0) & (of_step != 0)
    rates = torch.where(valid, of_weight / of_step, 1.0) * of_weight.new_tensor(lrs)
    nothing = [None] * len(weights)
    start = 0.0, 0.0, 1.0, math.inf
    run_rule(who, "mx_descend", weights, steps, nothing, start, True, copies, (rates, torch.zeros_like(rates)))


def lamb(
    who: str,
    weights: Sequence[Any],
    grads: Sequence[Any],
    states: Sequence[tuple[Any, Any]],
    constants: Any,
    lrs: Sequence[float],
    bounds: tuple[float | None, float | None],
    copies: Sequence[Any] | None = None,
) -> None:
    """LAMB's update of many weights: directions, norms and steps, with one kernel each. `states`: both moments."""
    steps = [NDArray(torch.empty_like(w.tensor)) for w in weights]
    nothing = None if copies is None else [None] * len(weights)
    rows = [(mean, var, w) for (mean, var), w in zip(states, weights, strict=True)]
    run_rule(who, "mx_lamb_direction", steps, grads, rows, constants, True, nothing)
    found = norms([*weights, *steps])
    ratios = found[: len(weights)], found[len(weights) :]
    descend(who, weights, steps, ratios, lrs, bounds, copies)


def _given(bounds: tuple[float | None, float | None]) -> bool:
    return any(b is not None and b >= 0 for b in bounds)
