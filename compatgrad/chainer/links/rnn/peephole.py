from compatgrad.chainer.functions.rnn.cells import peephole_cell, peephole_output
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn._state import StatefulChain, zeros


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
        self.c, o = peephole_cell(self.c, lstm_in, self.peep_i(self.c), self.peep_f(self.c))
        self.h = peephole_output(self.c, o, self.peep_o(self.c))
        return self.h
