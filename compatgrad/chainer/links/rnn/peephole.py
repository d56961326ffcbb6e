from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.rnn import _cells
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn import _state

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class StatefulPeepholeLSTM(_state.StatefulChain):
    """LSTM layer whose gates also depend on the cell, through the full matrices `peep_i`, `peep_f` and `peep_o`. It
    keeps cell `c` and output `h` from call to call: for x of shape (batch, in_size) it returns h of shape (batch,
    out_size).

    Args:
        in_size: length of the input vectors.
        out_size: length of the output vectors.

    Example:
        >>> link = L.StatefulPeepholeLSTM(3, 2)
        >>> link(np.ones((4, 3), np.float32)).shape
        (4, 2)

    Source: `chainer.links.StatefulPeepholeLSTM` of Chainer 7.8.1; Gers and Schmidhuber, 2000.
    """

    _states = ("c", "h")

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.state_size = out_size
        self.reset_state()
        with self.init_scope():
            self.upward = Linear(in_size, 4 * out_size)
            self.lateral = Linear(out_size, 4 * out_size, nobias=True)
            self.peep_i = Linear(out_size, out_size, nobias=True)
            self.peep_f = Linear(out_size, out_size, nobias=True)
            self.peep_o = Linear(out_size, out_size, nobias=True)

    def forward(self, x: VariableOrArray) -> Variable:
        """The output, which stays in `h`."""
        lstm_in = self.upward(x)
        if self.h is not None:
            lstm_in += self.lateral(self.h)
        if self.c is None:
            self.c = _state.zeros(self, (len(x), self.state_size), x.dtype)
        self.c, o = _cells.peephole_cell(self.c, lstm_in, self.peep_i(self.c), self.peep_f(self.c))
        self.h = _cells.peephole_output(self.c, o, self.peep_o(self.c))
        return self.h
