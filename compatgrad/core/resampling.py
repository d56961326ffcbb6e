"""Interpolation weights of the elements around a coordinate, from its distance `t` to the element below."""

from __future__ import annotations

from typing import Any


def linear(t: Any) -> list[Any]:
    """Weights of linear interpolation for the element below and the element above.

    Args:
        t: distance from the element below, between 0 and 1: a number, an array or a tensor.

    Returns:
        Two weights.

    Raises:
        TypeError: `t` does not support arithmetic.

    Example:
        >>> from compatgrad.core.resampling import linear
        >>> linear(0.25)
        [0.75, 0.25]

    Source: `compatgrad/core/resampling.py`.
    """
    return [1 - t, t]


def cubic(t: Any, a: Any) -> list[Any]:
    """Weights of cubic interpolation with Keys' kernel, for the two elements below and the two above.

    Args:
        t: distance from the nearest element below, between 0 and 1: a number, an array or a tensor.
        a: slope of the kernel at distance 1, such as -0.75.

    Returns:
        Four weights.

    Raises:
        TypeError: `t` or `a` does not support arithmetic.

    Example:
        >>> from compatgrad.core.resampling import cubic
        >>> cubic(0.5, -0.5)
        [-0.0625, 0.5625, 0.5625, -0.0625]

    Source: `compatgrad/core/resampling.py`; R. Keys, "Cubic convolution interpolation for digital image processing",
    1981.
    """

    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(1 + t), near(t), near(1 - t), far(2 - t)]
