from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.linear import Linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Highway(link.Chain):
    """activate(plain(x)) * g + x * (1 - g) with the gate g = sigmoid(transform(x)), where plain and transform are
    `Linear` layers. Inputs and results are floating-point arrays of shape (batch, in_out_size).

    Args:
        in_out_size: length of the input and the output vectors.
        nobias: True leaves out the bias.
        activate: function of the plain branch, from Variable to Variable.
        init_Wh: initializer of the plain layer's W; None is `LeCunNormal()`.
        init_Wt: initializer of the gate's W; None is `LeCunNormal()`.
        init_bh: initializer of the plain layer's b; None is 0.
        init_bt: initializer of the gate's b; with a negative bias, the layer initially returns x almost unchanged.

    Example:
        >>> link = L.Highway(2, init_Wh=0, init_Wt=0, init_bt=0)
        >>> link(np.array([[2, 4]], np.float32)).array  # half relu(0), half x
        array([[1., 2.]], dtype=float32)

    Source: `chainer.links.Highway` of Chainer 7.8.1; Srivastava et al., 2015.
    """

    def __init__(
        self,
        in_out_size: int,
        nobias: bool = False,
        activate: Callable[..., Any] = F.relu,
        init_Wh: Initializer = None,
        init_Wt: Initializer = None,
        init_bh: Initializer = None,
        init_bt: Initializer = -1,
    ) -> None:
        super().__init__()
        self.activate = activate
        size = (in_out_size, in_out_size, nobias)
        with self.init_scope():
            self.plain = Linear(*size, initialW=init_Wh, initial_bias=init_bh)
            self.transform = Linear(*size, initialW=init_Wt, initial_bias=init_bt)

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the layer to (batch, in_out_size)."""
        plain = self.activate(self.plain(x))
        gate = F.sigmoid(self.transform(x))
        return plain * gate + x * (1 - gate)
