import compatgrad.chainer.functions as F
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn._state import StatefulChain, zeros


def split_gates(lstm_in):
    """The four gates (a, i, f, o), each of shape (batch, units), of (batch, 4 * units), where they
    interleave."""
    shape = (len(lstm_in), lstm_in.shape[1] // 4)
    gates = F.split_axis(F.reshape(lstm_in, (*shape, 4)), 4, 2)
    return [F.reshape(gate, shape) for gate in gates]


class StatefulPeepholeLSTM(StatefulChain):
    """LSTM layer whose gates see the cell through full matrices `peep_i`, `peep_f`, `peep_o`."""

    _states = ("c", "h")

    def __init__(self, in_size, out_size):
        super().__init__()
        self.state_size = out_size
        self.reset_state()
        with self.init_scope():
            self.upward = Linear(in_size, 4 * out_size)
            self.lateral = Linear(out_size, 4 * out_size, nobias=True)
            self.peep_i = Linear(out_size, out_size, nobias=True)
            self.peep_f = Linear(out_size, out_size, nobias=True)
            self.peep_o = Linear(out_size, out_size, nobias=True)

    def forward(self, x):
        """The output, which stays in `h`."""
        lstm_in = self.upward(x)
        if self.h is not None:
            lstm_in += self.lateral(self.h)
        if self.c is None:
            self.c = zeros(self, (len(x), self.state_size), x.dtype)
        a, i, f, o = split_gates(lstm_in)
        peep_in_i = self.peep_i(self.c)
        peep_in_f = self.peep_f(self.c)
        a = F.tanh(a)
        i = F.sigmoid(i + peep_in_i)
        f = F.sigmoid(f + peep_in_f)
        self.c = a * i + f * self.c
        o = F.sigmoid(o + self.peep_o(self.c))
        self.h = o * F.tanh(self.c)
        return self.h
