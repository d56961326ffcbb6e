from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.functions.rnn import _cells
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn import _state

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class MGUBase(link.Chain):
    """Parameters of a minimal gated unit, which its subclasses apply: the `Linear` layers `W_f` of the gate and `W_h`,
    each on (h, x).

    Args:
        n_inputs: length of the input vectors.
        n_units: length of the state.

    Example:
        >>> L.StatelessMGU(2, 3).W_f.W.shape
        (3, 5)

    Source: `chainer.links.rnn.mgu.MGUBase` of Chainer 7.8.1; Zhou et al., 2016.
    """

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_f = Linear(n_inputs + n_units, n_units)
            self.W_h = Linear(n_inputs + n_units, n_units)

    def _call_mgu(self, h, x):
        f = self.W_f(F.concat([h, x]))
        return _cells.mgu_update(f, self.W_h(F.concat([_cells.mgu_reset(f, h), x])), h)


class StatelessMGU(MGUBase):
    """A step of a minimal gated unit: `h = link(h, x)`, with x of shape (batch, n_inputs) and h of shape (batch,
    n_units), both floating-point. f = sigmoid(W_f (h, x)), h' = f * tanh(W_h (f * h, x)) + (1 - f) * h.

    Args:
        n_inputs: length of the input vectors.
        n_units: length of the state.

    Example:
        >>> link = L.StatelessMGU(2, 3)
        >>> link(np.zeros((4, 3), np.float32), np.ones((4, 2), np.float32)).shape
        (4, 3)

    Source: `chainer.links.StatelessMGU` of Chainer 7.8.1; Zhou et al., 2016.
    """

    def forward(self, h: VariableOrArray, x: VariableOrArray) -> Variable:
        """The new state, of the shape of `h`."""
        return self._call_mgu(h, x)


class StatefulMGU(MGUBase, _state.StatefulChain):
    """Minimal gated unit that keeps its state `h` from call to call: for x of shape (batch, in_size) it returns the new
    state of shape (batch, out_size). The first step starts from zeros; `reset_state()` drops the state.

    Args:
        in_size: length of the input vectors.
        out_size: length of the output vectors.

    Example:
        >>> link = L.StatefulMGU(2, 3)
        >>> link(np.ones((4, 2), np.float32)).shape
        (4, 3)

    Source: `chainer.links.StatefulMGU` of Chainer 7.8.1; Zhou et al., 2016.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__(in_size, out_size)
        self._state_size = out_size
        self.reset_state()

    def set_state(self, h: Variable) -> None:
        """Makes a Variable the state; it is moved to the link's device."""
        self._set_states(h)

    def forward(self, x: VariableOrArray) -> Variable:
        """The new state."""
        if self.h is None:
            self.h = _state.zeros(self, (x.shape[0], self._state_size), chainer.get_dtype())
        self.h = self._call_mgu(self.h, x)
        return self.h
