"""Hard sigmoid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer.utils import type_check


class HardSigmoid(_native.NativeFunction):
    op = "hard_sigmoid"
    is_elementwise = True

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))


hard_sigmoid = _native.unary(
    HardSigmoid, "clip(0.2 * x + 0.5, 0, 1), element-wise: a sigmoid of straight lines.",
    example=("np.array([-3.0, 1.0])", "array([0. , 0.7])"), name="hard_sigmoid",
)  # fmt: skip
