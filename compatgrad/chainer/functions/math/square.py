"""Squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer.utils import type_check


class Square(_native.NativeFunction):
    op = "square"
    is_elementwise = True
    label = "square"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))


square = _native.unary(
    Square, "x * x, element-wise.",
    example=("np.array([-2.0, 3.0])", "array([4., 9.])"),
)  # fmt: skip
