"""Clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Clip(_native.Elementwise):
    op = "clip"

    def __init__(self, x_min: float | None, x_max: float | None) -> None:
        if x_min is None and x_max is None:
            raise ValueError("must set either max or min")
        if x_min is not None and x_max is not None and x_min >= x_max:
            raise ValueError(f"x_min must be less than x_max. Actual: {x_min} and {x_max}")
        super().__init__(min=x_min, max=x_max)

    x_min = _native.parameter("min")
    x_max = _native.parameter("max")


_clip = frontend.bind("clip", lambda x, x_min, x_max: Clip(x_min, x_max).apply((x,))[0])


def clip(x: VariableOrArray, x_min: float | None, x_max: float | None) -> Variable:
    """Elements limited to [x_min, x_max]; elements equal to a limit pass the gradient.

    Args:
        x: floating, any shape.
        x_min: the lower limit; None for none.
        x_max: the upper limit; None for none.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        ValueError: there is no limit, or the lower one is not below the upper one.
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.clip(np.array([-1.0, 0.5, 3.0]), 0.0, 2.0).array
        array([0. , 0.5, 2. ])

    Source: `chainer.functions.clip` of Chainer 7.8.1.
    """
    if x_min is None or x_max is None or x_min >= x_max:
        return Clip(x_min, x_max).apply((x,))[0]
    return _clip(x, x_min, x_max)
