import compatgrad.chainer.functions as F
from compatgrad.chainer.links.rnn import n_step_rnn


class NStepLSTMBase(n_step_rnn.NStepRNNBase):
    """A stack of LSTM layers: `hy, cy, ys = link(hx, cx, xs)`."""

    n_weights = 8
    n_cells = 2

    def forward(self, hx, cx, xs, **kwargs):
        """Last outputs, last cells and the sequences of outputs; `None` starts from zeros."""
        (hy, cy), ys = self._call([hx, cx], xs, **kwargs)
        return hy, cy, ys


class NStepLSTM(NStepLSTMBase):
    """Stack of LSTM layers, from first to last element."""

    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_lstm(*args)


class NStepBiLSTM(NStepLSTMBase):
    """Stack of LSTM layers in both directions."""

    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_bilstm(*args)
