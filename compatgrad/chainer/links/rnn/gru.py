import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.functions.rnn.cells import gru_reset, gru_update
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn._state import StatefulChain


class GRUBase(link.Chain):
    """Parameters of a GRU layer: W, W_r, W_z act on the input, U, U_r, U_z on the state."""

    def __init__(self, in_size, out_size, init=None, inner_init=None, bias_init=None):
        super().__init__()
        with self.init_scope():
            for suffix in ("_r", "_z", ""):
                W = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
                setattr(self, "W" + suffix, W)
                U = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
                setattr(self, "U" + suffix, U)


class StatelessGRU(GRUBase):
    """GRU layer without a state of its own: `h = link(h, x)`."""

    def forward(self, h, x):
        """The new state."""
        kept = gru_reset(self.W_r(x), self.U_r(h), h)
        return gru_update(self.W_z(x), self.U_z(h), self.W(x), self.U(kept), h)


class StatefulGRU(GRUBase, StatefulChain):
    """GRU layer that keeps its state `h` from call to call."""

    def __init__(self, in_size, out_size, init=None, inner_init=None, bias_init=0):
        super().__init__(in_size, out_size, init, inner_init, bias_init)
        self.state_size = out_size
        self.reset_state()

    def set_state(self, h):
        """Makes a Variable the state; it is moved to the link's device."""
        self._set_states(h)

    def forward(self, x):
        """The new state."""
        h = self.h
        z = self.W_z(x)
        h_bar = self.W(x)
        if h is None:
            self.h = F.sigmoid(z) * F.tanh(h_bar)
        else:
            kept = gru_reset(self.W_r(x), self.U_r(h), h)
            self.h = gru_update(z, self.U_z(h), h_bar, self.U(kept), h)
        return self.h


class GRU(StatefulGRU):
    """Same as `StatefulGRU`; ValueError where it is called with (h, x), as `StatelessGRU` is."""

    def forward(self, *args):
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
