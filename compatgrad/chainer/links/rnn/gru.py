from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.functions.rnn import _cells
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn import _state

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class GRUBase(link.Chain):
    """Parameters of a GRU layer, which its subclasses apply: `W`, `W_r` and `W_z` act on the input, `U`, `U_r` and
    `U_z` on the state; all are `Linear` layers.

    Args:
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        inner_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.

    Example:
        >>> L.StatelessGRU(2, 3).W_r.W.shape
        (3, 2)

    Source: `chainer.links.rnn.gru.GRUBase` of Chainer 7.8.1; Cho et al., 2014.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        init: Initializer = None,
        inner_init: Initializer = None,
        bias_init: Initializer = None,
    ) -> None:
        super().__init__()
        with self.init_scope():
            for suffix in ("_r", "_z", ""):
                W = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
                setattr(self, "W" + suffix, W)
                U = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
                setattr(self, "U" + suffix, U)


class StatelessGRU(GRUBase):
    """A step of a GRU layer: `h = link(h, x)`, with x of shape (batch, in_size) and h of shape (batch, out_size), both
    floating-point. r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), h' = z * tanh(W x + U (r * h)) + (1 - z)
    * h.

    Args:
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        inner_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.

    Example:
        >>> link = L.StatelessGRU(2, 3)
        >>> h = np.zeros((4, 3), np.float32)
        >>> link(h, np.ones((4, 2), np.float32)).shape
        (4, 3)

    Source: `chainer.links.StatelessGRU` of Chainer 7.8.1; Cho et al., 2014.
    """

    def forward(self, h: VariableOrArray, x: VariableOrArray) -> Variable:
        """The new state."""
        kept = _cells.gru_reset(self.W_r(x), self.U_r(h), h)
        return _cells.gru_update(self.W_z(x), self.U_z(h), self.W(x), self.U(kept), h)


class StatefulGRU(GRUBase, _state.StatefulChain):
    """GRU layer that keeps its state `h` from call to call: for x of shape (batch, in_size) it returns the new state of
    shape (batch, out_size). The first step starts without a state; `reset_state()` drops the state. See `StatelessGRU`
    for the formula.

    Args:
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        inner_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.

    Example:
        >>> link = L.StatefulGRU(2, 3)
        >>> for x in np.ones((5, 4, 2), np.float32):  # 5 steps of a batch of 4
        ...     h = link(x)
        >>> h.shape, link.h is h
        ((4, 3), True)

    Source: `chainer.links.StatefulGRU` of Chainer 7.8.1; Cho et al., 2014.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        init: Initializer = None,
        inner_init: Initializer = None,
        bias_init: Initializer = 0,
    ) -> None:
        super().__init__(in_size, out_size, init, inner_init, bias_init)
        self.state_size = out_size
        self.reset_state()

    def set_state(self, h: Variable) -> None:
        """Sets the state to a Variable, which is moved to the link's device."""
        self._set_states(h)

    def forward(self, x: VariableOrArray) -> Variable:
        """The new state."""
        h = self.h
        z = self.W_z(x)
        h_bar = self.W(x)
        if h is None:
            self.h = F.sigmoid(z) * F.tanh(h_bar)
        else:
            kept = _cells.gru_reset(self.W_r(x), self.U_r(h), h)
            self.h = _cells.gru_update(z, self.U_z(h), h_bar, self.U(kept), h)
        return self.h


class GRU(StatefulGRU):
    """Same as `StatefulGRU`, under a name that stood for a stateless layer in Chainer 1: a call with (h, x), the
    arguments of `StatelessGRU`, raises ValueError.

    Args:
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        inner_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.

    Example:
        >>> L.GRU(2, 3)(np.ones((4, 2), np.float32)).shape
        (4, 3)

    Source: `chainer.links.GRU` of Chainer 7.8.1; Cho et al., 2014.
    """

    def forward(self, *args: VariableOrArray) -> Variable:
        """The new state."""
        if len(args) != 1:
            message = f"Invalid argument. The length of GRU.forward must be 1. But {len(args)} is given. "
            if len(args) == 2:
                message += (
                    "In Chainer v2, chainer.links.GRU is changed from stateless to stateful. If you assume "
                    "GRU to be stateless, use chainer.links.StatelessGRU instead."
                )
            raise ValueError(message)
        return super().forward(args[0])
