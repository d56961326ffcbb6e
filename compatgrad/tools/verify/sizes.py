"""Sizes of recorded arrays: what an error is relative to."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np

from compatgrad.tools.verify import rounding
from compatgrad.tools.verify.recording import Event, Recording, rms

__all__ = ["Sizes"]


class Sizes:
    """The sizes of an original's arrays. backward, gradient: step -> that of the largest gradient in a backward pass,
    and of a parameter."""

    def __init__(self, original: Recording) -> None:
        self.original = original
        self.backward: dict[int, float] = defaultdict(float)
        self.gradient: dict[int, float] = defaultdict(float)
        for event in original.events:
            if event["k"] == "backward":
                for x in event.get("o") or event.get("i") or ():
                    self.backward[event["s"]] = max(self.backward[event["s"]], self.of(x))
            if event["k"] == "gradient":
                self.gradient[event["s"]] = max(self.gradient[event["s"]], self.of(event["o"][0]))

    def of(self, described: Any) -> float:
        if described is None:
            return 0.0
        x = self.original.whole(described)
        if x is not None:
            return rms(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
        return float(described[2][3] / math.sqrt(max(math.prod(described[1]), 1))) if described[2] else 0.0

    def elements_each(self, a: Event) -> float:
        """Over how many elements a normalization takes a mean: the elements of its result per element of a factor."""
        forward = self.original.events[a["of"]] if a.get("of", -1) >= 0 else a
        results, inputs = forward.get("o") or [None], forward.get("i", ())
        factors = [math.prod(x[1]) for x in inputs[1:2] if x]
        return math.prod(results[0][1]) / max(factors[0], 1) if results[0] and factors else 1e9

    def largest_input(self, a: Event) -> float:
        """The size of the largest input of a function."""
        arrays = [x for x in a.get("i", ()) if x]
        for source in a.get("f", ()):
            if source >= 0:
                arrays += [x for x in self.original.events[source].get("o", ()) if x]
        return max([self.of(x) for x in arrays if rounding.tolerance(x[0])], default=0.0)

    @staticmethod
    def of_sum(count: int, upstream: tuple[float, int]) -> float:
        """The size of a sum that is taken over many numbers of `upstream`: they can cancel, their rounding does not."""
        size, elements = upstream
        return 0.1 * size * math.sqrt(elements / count) if count and elements > 16 * count else 0.0

    def least_of_leaves(self, a: Event) -> float:
        """A tenth of the largest gradient of a parameter in the same function."""
        sizes = [self.of(x) for x, n in zip(a.get("o", ()), a.get("g", ()), strict=False) if n < 0 and x]
        return 0.1 * max(sizes, default=0.0)

    def least_of_gradient(self, a: Event) -> float:
        """The size that a gradient is taken to have at least: one that is zero but for rounding, as that of a bias
        before batch normalization, is as exact as the others, not exact in itself."""
        return 0.1 * self.gradient[a["s"]]

    def deviation(self, a: Event) -> float:
        """The deviation of the numbers of which a running mean was taken, from the variance that is kept beside it."""
        beside = a["n"].replace("mean", "var")
        for event in self.original.events if beside != a["n"] else ():
            if event["k"] == "persistent" and event["s"] == a["s"] and event["n"] == beside:
                return math.sqrt(self.of(event["o"][0]))
        return 0.0
