"""Sets of a function's inputs and outputs, encoded as numbers for the engine (csrc/core/mask.h)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["EVERY_INPUT", "mask_of"]

EVERY_INPUT = (1 << 32) - 1  # the last bit stands for all inputs without their own bit


def mask_of(inputs: Iterable[int] = (), outputs: Iterable[int] = ()) -> int:
    """Encodes a set of a function's inputs and outputs as a number for the engine.

    Args:
        inputs: indices of the inputs; those from 31 on share one bit.
        outputs: indices of the outputs; those from 31 on share one bit.

    Returns:
        The number: bit i for input i, bit 32 + j for output j.

    Raises:
        ValueError: an index is negative.

    Example:
        >>> from compatgrad.core.masks import mask_of
        >>> bin(mask_of([0, 2])), mask_of(outputs=[1]) == 1 << 33
        ('0b101', True)

    Source: `compatgrad/core/masks.py`, `csrc/core/mask.h`.
    """
    bits = 0
    for i in inputs:
        bits |= 1 << min(i, 31)
    for j in outputs:
        bits |= 1 << 32 + min(j, 31)
    return bits
