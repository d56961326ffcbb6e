import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.functions.rnn.cells import mgu_reset, mgu_update
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn._state import StatefulChain, zeros


class MGUBase(link.Chain):
    """Parameters of a minimal gated unit (https://arxiv.org/abs/1603.09420)."""

    def __init__(self, n_inputs, n_units):
        super().__init__()
        with self.init_scope():
            self.W_f = Linear(n_inputs + n_units, n_units)
            self.W_h = Linear(n_inputs + n_units, n_units)

    def _call_mgu(self, h, x):
        f = self.W_f(F.concat([h, x]))
        return mgu_update(f, self.W_h(F.concat([mgu_reset(f, h), x])), h)


class StatelessMGU(MGUBase):
    """Minimal gated unit without a state of its own: `h = link(h, x)`."""

    forward = MGUBase._call_mgu


class StatefulMGU(MGUBase, StatefulChain):
    """Minimal gated unit that keeps its state `h` from call to call."""

    def __init__(self, in_size, out_size):
        super().__init__(in_size, out_size)
        self._state_size = out_size
        self.reset_state()

    def set_state(self, h):
        """Makes a Variable the state; it is moved to the link's device."""
        self._set_states(h)

    def forward(self, x):
        """The new state."""
        if self.h is None:
            self.h = zeros(self, (x.shape[0], self._state_size), chainer.get_dtype())
        self.h = self._call_mgu(self.h, x)
        return self.h
