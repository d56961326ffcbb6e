from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Shape, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Bias(link.Link):
    """Adds along `axis`: the parameter b where `shape` is given, else a second argument.

    Inputs and results are floating-point arrays; the result has the shape of x.

    Args:
        axis: the first axis of x along which the bias is aligned.
        shape: shape of the parameter b, which begins with zeros; None makes the link take the bias as second argument.

    Example:
        >>> link = L.Bias(axis=1, shape=(3,))
        >>> link.b.array[:] = 1, 2, 3
        >>> link(np.zeros((2, 3), np.float32)).array
        array([[1., 2., 3.],
               [1., 2., 3.]], dtype=float32)

    Source: `chainer.links.Bias` of Chainer 7.8.1.
    """

    def __init__(self, axis: int = 1, shape: Shape | None = None) -> None:
        super().__init__()
        if shape is not None:
            with self.init_scope():
                self.b = variable.Parameter(0, shape)
        self.axis = axis

    def forward(self, *xs: VariableOrArray) -> Variable:
        """`forward(x)` with the parameter, `forward(x, y)` without."""
        learnt = hasattr(self, "b")
        if chainer.is_debug():
            assert len(xs) == (1 if learnt else 2), f"{1 if learnt else 2} arguments were expected, not {len(xs)}"
        x, b = (*xs, self.b) if learnt else xs
        return F.bias(x, b, self.axis)
