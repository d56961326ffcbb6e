"""Sets of a function's inputs and outputs, as numbers that the engine reads (csrc/core/mask.h)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["EVERY_INPUT", "mask_of"]

EVERY_INPUT = (1 << 32) - 1  # the last bit stands for those that have none of their own


def mask_of(inputs: Iterable[int] = (), outputs: Iterable[int] = ()) -> int:
    """The set of these inputs and outputs, which are named by their places."""
    bits = 0
    for i in inputs:
        bits |= 1 << min(i, 31)
    for j in outputs:
        bits |= 1 << 32 + min(j, 31)
    return bits
