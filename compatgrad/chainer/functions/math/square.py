"""Squares."""

from __future__ import annotations

from compatgrad.chainer.functions import _native


class Square(_native.Elementwise):
    op = "square"
    label = "square"


square = _native.unary(
    Square, "x * x, element-wise.",
    example=("np.array([-2.0, 3.0])", "array([4., 9.])"),
)  # fmt: skip
