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
    """Stack of LSTM layers over sequences of different lengths, from first to last element.

    `n_layers`, `in_size`, `out_size`: ints; `dropout`: between layers, a ratio. Called as
    `hy, cy, ys = link(hx, cx, xs)`, with xs a list of arrays (length, in_size), ys one of (length, out_size),
    and states (n_layers, batch, out_size), or None for zeros.

        >>> import numpy as np
        >>> import chainer.links as L
        >>> link = L.NStepLSTM(1, 3, 2, 0.0)
        >>> hy, cy, ys = link(None, None, [np.ones((n, 3), np.float32) for n in (4, 2)])
        >>> hy.shape, [y.shape for y in ys]
        ((1, 2, 2), [(4, 2), (2, 2)])
    """

    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_lstm(*args)


class NStepBiLSTM(NStepLSTMBase):
    """Stack of LSTM layers in both directions."""

    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_bilstm(*args)
