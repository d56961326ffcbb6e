"""Finds expressions of the inputs' sizes for numbers in a graph, from their values in runs at several sizes."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Expression", "Sizes", "Symbol"]

# A number, a Symbol, or (function of two numbers, left, right)
Expression = Any
MOST_DIVISOR = 64
# runs that are needed to distinguish a rounded quotient from similar ones
RUNS_FOR_QUOTIENTS = 6


@dataclass(frozen=True)
class Symbol:
    """A size that differs between runs: that of dimension `dim` of a tensor of the graph."""

    tensor: Any
    dim: int


class Sizes:
    """The known sizes: their values in each run, and the expressions for them."""

    def __init__(self, symbols: Mapping[Symbol, Sequence[int]]) -> None:
        self.known: dict[tuple[int, ...], Symbol] = {tuple(v): s for s, v in symbols.items()}
        self.runs = len(next(iter(symbols.values()))) if symbols else 0
        self._monomials: list[tuple[Expression, tuple[int, ...]]] = [(s, tuple(v)) for s, v in symbols.items()]
        for (a, x), (b, y) in itertools.combinations_with_replacement(list(self._monomials), 2):
            self._monomials.append(((operator.mul, a, b), tuple(p * q for p, q in zip(x, y, strict=True))))

    def seen(self, values: Sequence[int], tensor: Any, dim: int) -> None:
        """Registers a size of a tensor of the graph."""
        self.known.setdefault(tuple(values), Symbol(tensor, dim))

    def fit(self, values: Sequence[Any], near: Sequence[tuple[Symbol, Sequence[int]]] = ()) -> Expression | None:
        """The expression that has these values in the runs, or None. `near`: sizes of the tensors of the call."""
        if all(v == values[0] for v in values):
            return values[0]
        if all(isinstance(v, int) for v in values):
            return self._integer(tuple(values), near)
        return self._float([float(v) for v in values])

    # ---- integers ----------------------------------------------------------------------------------------------------

    def _integer(self, values: tuple[int, ...], near: Sequence[tuple[Symbol, Sequence[int]]]) -> Expression | None:
        for m, x in self._monomials:  # multiples first: c = 0
            if values[0] % x[0] == 0 and (found := _linear(m, x, values, values[0] // x[0])) is not None:
                return found
        for symbol, sizes in near:
            if tuple(sizes) == values:
                return symbol
        for m, x in self._monomials:
            if (found := _linear(m, x, values)) is not None:
                return found
        if values in self.known:
            return self.known[values]
        for symbol, sizes in near:
            if (found := _linear(symbol, sizes, values)) is not None:
                return found
        if self.runs >= RUNS_FOR_QUOTIENTS:
            for m, x in self._monomials:
                if (found := _quotient(m, x, values)) is not None:
                    return found
        return None

    # ---- floats ------------------------------------------------------------------------------------------------------

    def _float(self, values: list[float]) -> Expression | None:
        for m, x in self._monomials:
            for found in _float_forms(m, x, values):
                if all(math.isclose(evaluate(found, x, m), v, rel_tol=1e-7) for v, x in zip(values, x, strict=True)):
                    return found
        return None


def _linear(m: Expression, x: Sequence[int], values: Sequence[int], a: int | None = None) -> Expression | None:
    """a * m + c with integers."""
    if a is None:
        rise, run = values[1] - values[0], x[1] - x[0]
        if run == 0 or rise % run:
            return None
        a = rise // run
    c = values[0] - a * x[0]
    if any(a * n + c != v for n, v in zip(x, values, strict=True)):
        return None
    return plus(times(m, a), c)


def _quotient(m: Expression, x: Sequence[int], values: Sequence[int]) -> Expression | None:
    """(a * m + c) // d with integers."""
    low, high = min(zip(x, values, strict=True)), max(zip(x, values, strict=True))
    slope = (high[1] - low[1]) / (high[0] - low[0])
    for d in range(2, MOST_DIVISOR + 1):
        for a in sorted({math.floor(slope * d), math.ceil(slope * d)} - {0}):
            least = max(d * v - a * n for n, v in zip(x, values, strict=True))
            most = min(d * v + d - 1 - a * n for n, v in zip(x, values, strict=True))
            if least <= most:
                c = min(range(least, most + 1), key=lambda c: (c != 0, c != d - 1, abs(c)))
                return (operator.floordiv, plus(times(m, a), c), d)
    return None


def _float_forms(m: Expression, x: Sequence[int], values: Sequence[float]) -> Iterator[Expression]:
    (x0, x1), (v0, v1) = x[:2], values[:2]
    if v0 == 0 or v1 == 0 or x0 == x1:
        return
    yield (operator.truediv, _neat(v0 * x0), m)  # c / m
    yield times(m, _neat(v0 / x0))  # c * m
    a = (v1 - v0) / (x1 - x0)
    yield plus(times(m, _neat(a)), _neat(v0 - a * x0))  # a * m + c
    q = (1 / v0 - 1 / v1) / (1 / x0 - 1 / x1)  # 1 / v = p + q / m
    p = 1 / v0 - q / x0
    k = -p / q if q else 0.0
    if p and abs(k) > 0.5 and abs(k - round(k)) < 1e-4 * abs(k):  # c * n / (n - 1) where n = k * m: unbiased
        n = times(m, round(k))
        yield (operator.truediv, times(n, _neat(1 / p)), (torch.sym_max, plus(n, -1), 1))
    a = (1 / v1 - 1 / v0) / (x1 - x0)
    yield (operator.truediv, 1.0, plus(times(m, _neat(a)), _neat(1 / v0 - a * x0)))  # 1 / (a * m + c)


def _neat(v: float) -> float:
    """A short number, if it differs from `v` only by rounding."""
    short = float(f"{v:.9g}")
    return short if math.isclose(v, short, rel_tol=1e-13, abs_tol=1e-300) else v


def times(m: Expression, a: float) -> Expression:
    return m if a == 1 else (operator.mul, m, a)


def plus(e: Expression, c: float) -> Expression:
    if c == 0:
        return e
    return (operator.sub, e, -c) if c < 0 else (operator.add, e, c)


def evaluate(e: Expression, value: float, of: Expression) -> float:
    """The expression's value if `of` has the value `value`."""
    if e == of:
        return value
    if isinstance(e, tuple):
        e = e[0](evaluate(e[1], value, of), evaluate(e[2], value, of))
    number: float = e
    return number
