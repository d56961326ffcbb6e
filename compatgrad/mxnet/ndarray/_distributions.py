"""Draws tensors from distributions, for `mx.random`, `mx.np.random` and the operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..base import MXNetError
from ._late import keep
from ._random_state import generator

__all__ = ["DISTRIBUTIONS", "draw", "draw_integers"]

Params = tuple[torch.Tensor, ...]


@dataclass
class Distribution:
    """Names and defaults of a distribution's parameters, conditions on them, and a function that draws numbers."""

    params: dict[str, float]
    draw: Callable[[Params, torch.Generator], torch.Tensor]
    allowed: tuple[tuple[Callable[..., Any], str], ...] = ()  # (condition, message of the error)


def _at_least_zero(i: int) -> Callable[..., Any]:
    return lambda *p: p[i] >= 0


def _positive(i: int) -> Callable[..., Any]:
    return lambda *p: p[i] > 0


def _uniform(p: Params, g: torch.Generator) -> torch.Tensor:
    low, high = p
    return torch.empty_like(low).uniform_(generator=g) * (high - low) + low


def _normal(p: Params, g: torch.Generator) -> torch.Tensor:
    return torch.empty_like(p[0]).normal_(generator=g) * p[1] + p[0]


def _exponential(p: Params, g: torch.Generator) -> torch.Tensor:
    return torch.empty_like(p[0]).exponential_(generator=g) / p[0]


def _gamma(p: Params, g: torch.Generator) -> torch.Tensor:
    return torch._standard_gamma(p[0].contiguous(), generator=g) * p[1]


def _poisson(p: Params, g: torch.Generator) -> torch.Tensor:
    return torch.poisson(p[0].clamp(min=0), generator=g)


def _negative_binomial(p: Params, g: torch.Generator) -> torch.Tensor:
    k, prob = p
    # a Poisson distribution whose rate is drawn from a gamma distribution
    rate = torch.where(k > 0, _gamma((torch.where(k > 0, k, 1.0), (1 - prob).clamp(min=0) / prob), g), 0.0)
    return torch.poisson(rate.clamp(min=0), generator=g)


def _generalized_negative_binomial(p: Params, g: torch.Generator) -> torch.Tensor:
    mu, alpha = p
    spread = alpha > 0  # alpha = 0 is a Poisson distribution
    shape = 1 / torch.where(spread, alpha, 1.0)
    rate = torch.where(spread, _gamma((shape, mu * alpha), g), mu)
    return torch.poisson(rate, generator=g)


DISTRIBUTIONS = {
    "uniform": Distribution(
        {"low": 0.0, "high": 1.0}, _uniform, ((lambda low, high: high >= low, "low must not be greater than high"),)
    ),
    "normal": Distribution({"loc": 0.0, "scale": 1.0}, _normal, ((_positive(1), "scale must be positive"),)),
    "exponential": Distribution({"lam": 1.0}, _exponential, ((_positive(0), "lam must be positive"),)),
    "gamma": Distribution(
        {"alpha": 1.0, "beta": 1.0},
        _gamma,
        ((_positive(0), "alpha must be positive"), (_positive(1), "beta must be positive")),
    ),
    "poisson": Distribution({"lam": 1.0}, _poisson, ((_at_least_zero(0), "lam must not be negative"),)),
    "negative_binomial": Distribution(
        {"k": 1.0, "p": 1.0},
        _negative_binomial,
        ((_at_least_zero(0), "k must not be negative"), (lambda k, p: (p > 0) & (p <= 1), "p must be in (0, 1]")),
    ),
    "generalized_negative_binomial": Distribution(
        {"mu": 1.0, "alpha": 1.0},
        _generalized_negative_binomial,
        ((_at_least_zero(0), "mu must not be negative"), (_at_least_zero(1), "alpha must not be negative")),
    ),
}


def draw(
    name: str,
    params: tuple[Any, ...],
    shape: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
    who: str | None = None,
    error: type[Exception] | None = MXNetError,
) -> torch.Tensor:
    """Numbers of a distribution; `params` are numbers or tensors that broadcast to `shape`.

    They are drawn in float32, or in float64 for that dtype. A parameter that is not allowed gives NaN and raises
    `error` at the next wait; with `error=None`, it is not checked.
    """
    d = DISTRIBUTIONS[name]
    for allowed, words in d.allowed if error is not None else ():
        ok = allowed(*params)
        if not (bool(ok.all()) if isinstance(ok, torch.Tensor) else ok):
            shown = ", ".join(f"{n}={p}" for n, p in zip(d.params, params, strict=True))
            keep(error(f"{who or name}: {words}, got {shown}"))
            return torch.full(shape, torch.nan, dtype=dtype, device=device)
    working = torch.float64 if dtype == torch.float64 else torch.float32
    expanded = tuple(
        (p.detach().to(device=device, dtype=working) if isinstance(p, torch.Tensor)
         else torch.tensor(float(p), dtype=working, device=device)).expand(shape)
        for p in params
    )  # fmt: skip
    if name in ("uniform", "normal", "exponential"):  # these write into a copy of the first parameter
        first = torch.empty(shape, dtype=working, device=device)
        expanded = (first.copy_(expanded[0]), *expanded[1:])
    return d.draw(expanded, generator(device)).to(dtype)


def draw_integers(
    low: int, high: int, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, who: str = "randint"
) -> torch.Tensor:
    """Integers of [low, high). If the range is empty, all are `low`, and MXNetError is raised at the next wait."""
    if high <= low:
        keep(MXNetError(f"{who}: low must be less than high, got low={low}, high={high}"))
        return torch.full(shape, int(low), dtype=dtype, device=device)
    return torch.randint(int(low), int(high), shape, dtype=dtype, device=device, generator=generator(device))
