from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable
from compatgrad.chainer.links.connection.bias import Bias

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Shape, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Scale(link.Chain):
    """Multiplies along `axis`: by the parameter W where `W_shape` is given, else by a second argument.

    `bias_term` adds a bias. Raises ValueError if neither `W_shape` nor `bias_shape` gives its shape.

    Inputs and results are floating-point arrays; the result has the shape of x.

    Args:
        axis: the first axis of x along which the factor is aligned.
        W_shape: shape of the parameter W, which begins with ones; None makes the link take the factor as second
            argument.
        bias_term: True adds a `Bias`, the child `bias`.
        bias_shape: shape of the bias where `W_shape` is None.

    Raises:
        ValueError: `bias_term` is True, and both `W_shape` and `bias_shape` are None.

    Example:
        >>> link = L.Scale(axis=1, W_shape=(2,))
        >>> link.W.array[:] = 10, 100
        >>> link(np.array([[1, 2], [3, 4]], np.float32)).array
        array([[ 10., 200.],
               [ 30., 400.]], dtype=float32)

    Source: `chainer.links.Scale` of Chainer 7.8.1.
    """

    def __init__(
        self, axis: int = 1, W_shape: Shape | None = None, bias_term: bool = False, bias_shape: Shape | None = None
    ) -> None:
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = variable.Parameter(1, W_shape)
            if bias_term:
                shape = bias_shape if W_shape is None else W_shape
                if shape is None:
                    raise ValueError("bias_shape should be given if W is not learnt parameter and bias_term is True.")
                self.bias = Bias(axis, shape)

    def forward(self, *xs: VariableOrArray) -> Variable:
        """`forward(x)` with the parameter, `forward(x, y)` without."""
        learnt = hasattr(self, "W")
        if chainer.is_debug():
            assert len(xs) == (1 if learnt else 2), f"{1 if learnt else 2} arguments were expected, not {len(xs)}"
        x, y = (*xs, self.W) if learnt else xs
        z = F.scale(x, y, self.axis)
        return self.bias(z) if hasattr(self, "bias") else z
