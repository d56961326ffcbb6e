from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, Shape, VariableOrArray
    from compatgrad.chainer.variable import Variable


class PReLU(link.Link):
    """x where x > 0, else W * x, with a learnt slope W. Inputs are floating-point arrays of shape (batch, *shape, ...).

    Args:
        shape: shape of W: the lengths of the first axes of a sample, whose elements have different slopes; () is one
            slope for all.
        init: initializer of W.

    Example:
        >>> L.PReLU()(np.array([-4, 4], np.float32)).array
        array([-1.,  4.], dtype=float32)

    Source: `chainer.links.PReLU` of Chainer 7.8.1; He et al., 2015.
    """

    def __init__(self, shape: Shape = (), init: Initializer = 0.25) -> None:
        super().__init__()
        with self.init_scope():
            self.W = variable.Parameter(init, shape)

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the function elementwise."""
        return F.prelu(x, self.W)
