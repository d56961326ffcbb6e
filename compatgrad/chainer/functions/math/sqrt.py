"""Square roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


Sqrt, sqrt = _native.unary("Sqrt", "Square root, element-wise; nan for negative elements.", "[4.0, 9.0]", "[2., 3.]")


@_native.unary_docstring("1 / sqrt(x), element-wise.", "[4.0, 0.25]", "[0.5, 2. ]")
def rsqrt(x: VariableOrArray) -> Variable:
    return 1.0 / sqrt(x)
