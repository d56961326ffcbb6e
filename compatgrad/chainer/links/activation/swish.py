from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, Shape, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Swish(link.Link):
    """x * sigmoid(beta * x) with a learnt beta. Inputs are floating-point arrays of shape (batch, *beta_shape, ...).

    Args:
        beta_shape: shape of beta; None takes the shape of the first input without its batch axis, () is one beta for
            all.
        beta_init: initializer of beta.

    Example:
        >>> L.Swish(())(np.array([0, 1], np.float32)).array
        array([0.       , 0.7310586], dtype=float32)

    Source: `chainer.links.Swish` of Chainer 7.8.1; Ramachandran et al., 2017.
    """

    def __init__(self, beta_shape: Shape | None, beta_init: Initializer = 1.0) -> None:
        super().__init__()
        with self.init_scope():
            if beta_shape is not None:
                self.beta = variable.Parameter(beta_init, beta_shape)
            else:
                self.beta = variable.Parameter(initializers.Constant(beta_init))

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the function elementwise."""
        if self.beta.tensor is None:
            self.beta.initialize(x.shape[1:])
        return F.swish(x, self.beta)
