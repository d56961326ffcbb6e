"""The compiled update rules, for the operators on weights and for the optimizers.

Constants of every rule start with the learning rate, the weight decay, the factor on the gradient and the bound of
its elements (infinite for none); csrc/kernels/optim_rules_mxnet.h says what follows.
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

    constants: a tuple for all or a list with one for each; `rounds` takes them in single precision. copies: for each
    weight in single precision an array of half precision that gets its values, or None; gradients may be of half
    precision then. rates: two arrays with learning rate and decay of each weight, instead of those among the constants.
    MXNetError, which names `who`, where shapes, types or devices do not fit.
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
    """beta ** t of single precision."""
    return float(np.float32(np.float64(np.float32(beta)) ** t))


# the rules that leave rows alone which a row_sparse gradient does not have; for others such a gradient is a dense one
_BY_ROWS = {"mx_sgd", "mx_sgd_op", "mx_sgd_momentum", "mx_adam", "mx_ftrl", "mx_adagrad"}


def goes_by_rows(rule: str, grad: Any) -> bool:
    """Whether only the rows are updated that the gradient has."""
    return grad.stype == "row_sparse" and rule.removesuffix("_clip") in _BY_ROWS


def on_rows(grad: Any, arrays: Sequence[Any], run: Any) -> None:
    """Calls `run(gradient, *parts)` with the rows of the arrays (None stays) that a row_sparse gradient has.

    What it changes goes back into the arrays.
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
    """The Euclidean norms, of arrays on one device: a tensor (arrays,) of float64 there."""
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
    """LAMB's steps, scaled by the weight's norm, kept within its bounds, over that of the step; by 1 where one is 0.

    ratios: both norms for each weight. Bounds that are None or below 0 do not count. Nothing waits for a GPU.
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
    """LAMB's step of many weights: directions, norms and steps, one launch for each. `states`: both moments."""
    steps = [NDArray(torch.empty_like(w.tensor)) for w in weights]
    nothing = None if copies is None else [None] * len(weights)
    rows = [(mean, var, w) for (mean, var), w in zip(states, weights, strict=True)]
    run_rule(who, "mx_lamb_direction", steps, grads, rows, constants, True, nothing)
    found = norms([*weights, *steps])
    ratios = found[: len(weights)], found[len(weights) :]
    descend(who, weights, steps, ratios, lrs, bounds, copies)


def _given(bounds: tuple[float | None, float | None]) -> bool:
    return any(b is not None and b >= 0 for b in bounds)
