"""Functions of the engine whose gradients are no derivatives: straight-through estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from compatgrad.exporting._trace import Call, Value
from compatgrad.interop.native._layers import Layer, Seen

__all__ = ["VALUE", "straight_of", "vectors_fixed"]

# the value, to which all these functions add a difference that is exactly 0 and has the gradient
VALUE = "{0}.detach() + "
_THROUGH = VALUE + "({1} - {1}.detach())"
_BETWEEN = VALUE + "{factor}(F.hardtanh({1}) - F.hardtanh({1}).detach())"


def _where(condition: str) -> str:
    return f"{VALUE}({{1}} - {{1}}.detach()).where({condition}, 0)"


def _grid(params: Any) -> str:
    """The gradient is 0 beyond the grid, if `ste_fine_grained` says so."""
    if not params["ste_fine_grained"]:
        return _THROUGH
    top = (2 ** (params["n"] - params["sign"]) - 1) * params["delta"]
    bottom = -top if params["sign"] else 0.0
    return _where(f"({{1}} >= {bottom!r}) & ({{1}} <= {top!r})")


def _powers(params: Any) -> str:
    """The gradient is 0 where a number is rounded, on a logarithmic scale, to more than the largest power."""
    if not params["ste_fine_grained"]:
        return _THROUGH
    inside = f"{{1}}.abs() < {2.0 ** (params['m'] + 0.5)!r}"
    return _where(inside if params["sign"] else f"({inside}) & ({{1}} >= 0)")


# functions of one input that get their own value and another gradient
_TEXTS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(
        ("ste_round", "ste_ceil", "ste_floor", "ste_sign", "binary_weights", "prune"), lambda params: _THROUGH
    ),
    "binary_tanh": lambda params: _BETWEEN.replace("{factor}", ""),
    "binary_sigmoid": lambda params: _BETWEEN.replace("{factor}", "0.5 * "),
    "fixed_point_quantize": _grid,
    "pow2_quantize": _powers,
}


def vectors_fixed(calls: Sequence[Any], new_tensor: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    """The calls of a spectral normalization, W / (u W v), with u and v as constants for the gradient. new_tensor: makes
    a tensor without values."""
    made = list(calls)
    last = next((k for k in reversed(range(len(made))) if str(made[k].op) == "aten.mv.default"), None)
    if last is None:
        return made
    product = made[last].results[0]
    multiplied = next((c for c in made[last:] if str(c.op).startswith("aten.mul") and product in c.args), None)
    for call, k in ((made[last], 1), (multiplied, 0 if multiplied is None else 1 - multiplied.args.index(product))):
        if call is None:
            continue
        value = call.args[k]
        detached = Call(torch.ops.aten.detach.default, (value,), {})
        detached.results.append(Value("result", detached, new_tensor(value.fake)))
        call.args = (*call.args[:k], detached.results[0], *call.args[k + 1 :])
        made.insert(made.index(call), detached)
    return made


def straight_of(seen: Seen, stops: bool) -> tuple[Layer, int | None, int] | None:
    """For a straight-through estimator: what is computed from its value and from the input that gets the gradient; the
    number of the input that is its value, None if it computes the value; and the number of the input that gets the
    gradient. None for other functions. stops: whether gradients end where the network's do."""
    if seen.op == "straight_through" and stops:
        return Layer("", (), _THROUGH, (0, 1)), 0, 1
    if seen.op in _TEXTS:
        return Layer("", (), _TEXTS[seen.op](seen.params), (0, 1)), None, 0
    return None
