"""Weights of the elements between which a coordinate lies, by its distance `t` from the one below."""

from __future__ import annotations

from typing import Any


def linear(t: Any) -> list[Any]:
    """Of the element below and the one above."""
    return [1 - t, t]


def cubic(t: Any, a: Any) -> list[Any]:
    """Of the two elements below and the two above: Keys' kernel, whose slope at distance 1 is `a`."""

    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(1 + t), near(t), near(1 - t), far(2 - t)]
