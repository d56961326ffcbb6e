"""Shared by operators that update weights: checks of arguments, docstrings, and steps on weights and their copies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .._docs import composed, parameters_of
from .._words import WORDS
from ..base import MXNetError, _Null
from ._operator import not_an_array, parse, register, shown_name
from ._update_rules import descend, goes_by_rows, on_rows, power, run_rule
from .ndarray import NDArray

_F = TypeVar("_F", bound=Callable[..., Any])
# meanings of arguments, for docstrings that do not describe them
_MEANINGS = {
    "beta1": "the share of `mean` that is kept.",
    "beta2": "the share of `var` that is kept.",
    "bias_correction": "whether the moments are divided by 1 - beta ** t.",
    "clip_weights": "bounds the new weight to [-clip_weights, clip_weights]; not if negative.",
    "gamma1": "the share of `n` (and `g`) that is kept.",
    "grad": "the gradient, of the shape and dtype of `weight`.",
    "grads": "the gradient of each weight, of its shape and dtype.",
    "history": "the sum of squared gradients, of the shape and dtype of `weight`; changed in place.",
    "lazy_update": "whether only the rows of a row_sparse gradient are updated; else all rows are.",
    "lower_bound": "the lower bound of `r1`; none if negative.",
    "out": "where the new weight is written, instead of a new array; usually `weight`.",
    "r1": "the norm of the weight, shape (1,).",
    "r2": "the norm of `g`, shape (1,).",
    "upper_bound": "the upper bound of `r1`; none if negative.",
    "weight": "the weight, floating point; unchanged unless it is `out`.",
    "weight32": "the weight in float32, from which `weight` is rounded; changed in place.",
    "weights": "the weights, floating point.",
    "weights32": "each weight in float32, from which it is rounded; changed in place.",
}
_WORDS = {**WORDS, **{name: ("", meaning) for name, meaning in _MEANINGS.items()}}
_STATES = {
    "mean": "the running mean of gradients",
    "mom": "the momentum",
    "var": "the running mean of squared gradients",
}
_RETURNS = "NDArray: `out`, or a new array, with the updated weight."
_RAISES = """AssertionError: an array is no NDArray.
        mxnet.base.MXNetError: an array has integers, or another shape or dtype than `weight`; a number is missing, or
            is no number."""


def updates(function: _F, aliases: Sequence[str] = (), shown: str = "", returns: str = _RETURNS) -> _F:
    """Registers an operator that updates weights, and completes its docstring; `shown` is its name where it is not
    the first of its names that `mx.nd` shows.
    """
    types = function.__annotations__.items()
    arrays = {name: kind for name, kind in types if kind in ("NDArray", "Sequence[NDArray]") and name != "return"}
    names = parameters_of(function)
    source = f"mxnet.nd.{shown or shown_name(function.__name__)}"
    each, shape = (" of each weight", "its shape") if "weights" in names else ("", "the shape of `weight`")
    dtype = ", float32" if "mp_" in function.__name__ else ""
    states = {name: ("", f"{what}{each}{dtype}, of {shape}; changed in place.") for name, what in _STATES.items()}
    function.__doc__ = composed(function.__doc__, names, source, returns, _RAISES, arrays, {**_WORDS, **states})
    register(function, aliases)
    return function


def contributed(function: _F) -> _F:
    """`updates` for an operator of `mx.nd.contrib`."""
    return updates(function, (f"_contrib_{function.__name__}",), f"contrib.{function.__name__}")


def number(who: str, name: str, value: Any) -> float:
    """An attribute as a float; MXNetError if it is missing or no number."""
    value = parse(value)
    if value is _Null:
        raise MXNetError(f"Required parameter {name} of float is not presented, in operator {who}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MXNetError(f"{who}: argument {name}: expected a number, got {value!r}") from None


def common(who: str, lr: Any, wd: Any, rescale_grad: Any, clip_gradient: Any) -> tuple[float, float, float, float]:
    """The first four constants of every rule. `clip_gradient`: 0 clips all elements to 0, a negative number none."""
    clip = number(who, "clip_gradient", clip_gradient)
    lr, wd = number(who, "lr", lr), number(who, "wd", wd)
    return lr, wd, number(who, "rescale_grad", rescale_grad), clip if clip >= 0 else math.inf


def check(who: str, **arrays: Any) -> None:
    """AssertionError if an argument is no NDArray; MXNetError for dtypes or shapes that differ, and for integers."""
    first = None
    for name, x in arrays.items():
        if not isinstance(x, NDArray):
            raise not_an_array(who, name, x)
        first = x if first is None else first
        if not x.tensor.is_floating_point():
            raise MXNetError(f"{who}: argument {name}: expected floating point elements, got {np.dtype(x.dtype).name}")
        if x.dtype != first.dtype:
            expected, got = np.dtype(first.dtype).name, np.dtype(x.dtype).name
            raise MXNetError(f"{who}: argument {name}: expected elements of type {expected}, got {got}")
        if x.shape != first.shape:
            raise MXNetError(f"{who}: argument {name}: expected shape {first.shape}, got {x.shape}")


def target(who: str, weight: NDArray, out: NDArray | None) -> NDArray:
    """The array for the new weight, `out` or a new one, filled with the values of `weight`."""
    if out is None:
        return NDArray(weight.tensor.clone())
    if isinstance(out, (list, tuple)) and len(out) == 1:
        (out,) = out
    check(who, weight=weight, out=out)
    out._check_writable()
    if out is not weight:
        out.tensor.copy_(weight.tensor)
    return out


def update(
    who: str,
    rule: str,
    weight: NDArray,
    grad: NDArray,
    states: dict[str, NDArray],
    constants: tuple[float, ...],
    out: NDArray | None,
) -> NDArray:
    """One step of a rule on one weight; with a row_sparse gradient, only on the rows that it stores."""
    check(who, weight=weight, grad=grad, **states)
    y = target(who, weight, out)
    arrays = tuple(states.values())
    if goes_by_rows(rule, grad):
        on_rows(grad, [y, *arrays], lambda g, x, *s: run_rule(who, rule, [x], [g], [s], constants))
    else:
        run_rule(who, rule, [y], [grad], [arrays], constants)
    return y


def update_mixed(
    who: str,
    rule: str,
    weight: NDArray,
    grad: NDArray,
    states: dict[str, NDArray],
    weight32: NDArray,
    constants: tuple[float, ...],
    out: NDArray | None,
) -> NDArray:
    """One step of a rule on `weight32`, whose values then go to `out` in the weight's precision."""
    check(who, weight=weight, grad=grad)
    check(who, weight32=weight32, **states)
    y = target(who, weight, out)
    run_rule(who, rule, [weight32], [grad], [tuple(states.values())], constants, True, [y])
    return y


def update_all(
    who: str,
    rule: str,
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[dict[str, NDArray]],
    weights32: Sequence[NDArray] | None,
    constants: list[tuple[float, ...]] | tuple[float, ...],
    outs: Sequence[NDArray | None],
    rates: tuple[NDArray, NDArray] | None = None,
) -> list[NDArray]:
    """`update` of many weights, or `update_mixed` where they have copies in single precision, in one call."""
    for k, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
        if weights32 is None:
            check(who, weight=weight, grad=grad, **states[k])
        else:
            check(who, weight=weight, grad=grad)
            check(who, weight32=weights32[k], **states[k])
    ys = [target(who, weight, out) for weight, out in zip(weights, outs, strict=True)]
    arrays = [tuple(s.values()) for s in states]
    dense = [g if g.stype == "default" else g.tostype("default") for g in grads]
    if weights32 is None:
        run_rule(who, rule, ys, dense, arrays, constants, True, None, rates)
    else:
        run_rule(who, rule, weights32, dense, arrays, constants, True, ys, rates)
    return ys


def sgd_rule(rule: str, constants: tuple[float, ...]) -> str:
    return rule if math.isinf(constants[3]) else rule + "_clip"


def dense_of(grad: Any) -> Any:
    return grad.tostype("default") if isinstance(grad, NDArray) and grad.stype != "default" else grad


def lamb_constants(who, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient):
    t = number(who, "t", t)
    powers = (power(beta1, t), power(beta2, t)) if parse(bias_correction) else (0.0, 0.0)
    return *common(who, 0.0, wd, rescale_grad, clip_gradient), float(beta1), float(beta2), float(epsilon), *powers


def direction(who, weight, grad, mean, var, constants, out):
    # the direction of LAMB's step
    step = target(who, weight, None) if out is None else out
    run_rule(who, "mx_lamb_direction", [step], [grad], [(mean, var, weight)], constants, True, [None])
    return step


def step_by_norms(who, weight, g, r1, r2, lr, lower_bound, upper_bound, copy=None):
    ratios = tuple(r.tensor.reshape(1).double() for r in (r1, r2))
    bounds = float(lower_bound), float(upper_bound)
    descend(who, [weight], [g], ratios, [number(who, "lr", lr)], bounds, None if copy is None else [copy])


def bound(value: Any) -> float:
    value = float(value)
    return value if value >= 0 else math.inf
