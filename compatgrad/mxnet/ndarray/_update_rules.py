"""The compiled update rules, for the operators on weights and for the optimizers.

Constants of every rule start with the learning rate, the weight decay, the factor on the gradient and the bound of
its elements (infinite for none); csrc/kernels/optim_rules_mxnet.h says what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from compatgrad import _C

from ..base import MXNetError
from .ndarray import NDArray

_step = _C.mx_optim_step


def run_rule(
    who: str,
    rule: str,
    weights: Sequence[Any],
    grads: Sequence[Any],
    states: Sequence[Any],
    constants: Any,
    rounds: bool = True,
) -> None:
    """Changes weights and states in place. `states` has an array, a sequence of arrays or None for each weight.

    constants: a tuple for all or a list with one for each; `rounds` takes them in single precision. MXNetError, which
    names `who`, where shapes, types or devices do not fit.
    """
    try:
        _step(rule, weights, grads, states, constants, rounds)
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


def norms(arrays: Sequence[Any]) -> list[float]:
    """The Euclidean norms in single precision, of arrays on one device."""
    tensors = [x.tensor if x.tensor.dtype != torch.float16 else x.tensor.float() for x in arrays]
    return torch.stack(torch._foreach_norm(tensors)).tolist()


def trust_ratio(of_weight: float, of_step: float, lower_bound: float | None, upper_bound: float | None) -> float:
    """LAMB's factor of a step: the weight's norm, kept within its bounds, by that of the step; 1 where one is 0.

    Bounds that are None or below 0 do not count.
    """
    if lower_bound is not None and lower_bound >= 0:
        of_weight = max(of_weight, lower_bound)
    if upper_bound is not None and upper_bound >= 0:
        of_weight = min(of_weight, upper_bound)
    return of_weight / of_step if of_weight and of_step else 1.0
