import compatgrad.chainer.functions as F
from compatgrad.chainer.links.rnn import n_step_rnn


class NStepGRUBase(n_step_rnn.NStepRNNBase):
    """A stack of GRU layers: `hy, ys = link(hx, xs)`."""

    n_weights = 6
    n_cells = 1


class NStepGRU(NStepGRUBase):
    """Stack of GRU layers, from first to last element."""

    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_gru(*args)


class NStepBiGRU(NStepGRUBase):
    """Stack of GRU layers in both directions."""

    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_bigru(*args)
