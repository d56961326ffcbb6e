"""Hard sigmoid."""

from __future__ import annotations

from compatgrad.chainer.functions import _native

HardSigmoid, hard_sigmoid = _native.unary(
    "HardSigmoid",
    "clip(0.2 * x + 0.5, 0, 1), element-wise: a piecewise linear approximation of the sigmoid.",
    "[-3.0, 1.0]",
    "[0. , 0.7]",
    op="hard_sigmoid",
    base=_native.Elementwise,
)
