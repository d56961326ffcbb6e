"""Trigonometric functions and their inverses; angles are radians."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.cast import promoted
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Arctan2(_native.NamedElementwise):
    op = "arctan2"

    @type_check._expects
    def check_type_forward(self, x1, x2):
        return x1.dtype.kind == "f", x2.dtype.kind == "f"

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, *promoted(*inputs))


Sin, sin = _native.unary("Sin", "Sine of angles in radians, element-wise.", "[0.0, np.pi / 6]", "[0. , 0.5]")
Cos, cos = _native.unary("Cos", "Cosine of angles in radians, element-wise.", "[0.0, np.pi / 3]", "[1. , 0.5]")
Tan, tan = _native.unary("Tan", "Tangent of angles in radians, element-wise.", "[0.0, np.pi / 4]", "[0., 1.]")
Arcsin, arcsin = _native.unary(
    "Arcsin",
    "Angle in [-pi/2, pi/2] whose sine is `x`, element-wise; nan outside [-1, 1].",
    "[0.0, 1.0]",
    "[0.        , 1.57079633]",
)
Arccos, arccos = _native.unary(
    "Arccos",
    "Angle in [0, pi] whose cosine is `x`, element-wise; nan outside [-1, 1].",
    "[0.0, 1.0]",
    "[1.57079633, 0.        ]",
)
Arctan, arctan = _native.unary(
    "Arctan", "Angle in (-pi/2, pi/2) whose tangent is `x`, element-wise.", "[0.0, 1.0]", "[0.        , 0.78539816]"
)


@_native.function(Arctan2)
def arctan2(x1: VariableOrArray, x2: VariableOrArray) -> Variable:
    """The angle of the point (x2, x1) in radians, in [-pi, pi], element-wise with broadcasting.

    Args:
        x1: floating, any shape.
        x2: floating.

    Returns:
        Variable of the common shape and the dtype to which NumPy promotes the inputs.

    Raises:
        TypeError: one of them is neither a Variable nor an array.
        ValueError: shapes cannot be broadcast.
        chainer.utils.type_check.InvalidType: they are not floating-point.

    Example:
        >>> F.arctan2(np.array([1.0, 0.0]), np.array([1.0, -1.0])).array
        array([0.78539816, 3.14159265])

    Source: `chainer.functions.arctan2` of Chainer 7.8.1.
    """
    return Arctan2().apply((x1, x2))[0]
