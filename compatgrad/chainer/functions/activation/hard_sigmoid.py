"""Hard sigmoid."""

from __future__ import annotations

from compatgrad.chainer.functions import _native


class HardSigmoid(_native.Elementwise):
    op = "hard_sigmoid"


hard_sigmoid = _native.unary(
    HardSigmoid, "clip(0.2 * x + 0.5, 0, 1), element-wise: a piecewise linear approximation of the sigmoid.",
    example=("np.array([-3.0, 1.0])", "array([0. , 0.7])"), name="hard_sigmoid",
)  # fmt: skip
