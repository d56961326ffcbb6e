import compatgrad.chainer.functions as F
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn._state import StatefulChain, zeros
from compatgrad.chainer.utils import argument


class StatefulZoneoutLSTM(StatefulChain):
    """LSTM layer with zoneout (https://arxiv.org/abs/1606.01305): units keep their old cell or output at
    random."""

    _states = ("c", "h")

    def __init__(self, in_size, out_size, c_ratio=0.5, h_ratio=0.5, **kwargs):
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, train="train argument is not supported anymore. Use chainer.using_config"
            )
            argument.assert_kwargs_empty(kwargs)
        super().__init__()
        self.state_size = out_size
        self.c_ratio = c_ratio
        self.h_ratio = h_ratio
        self.reset_state()
        with self.init_scope():
            self.upward = Linear(in_size, 4 * out_size)
            self.lateral = Linear(out_size, 4 * out_size, nobias=True)

    def set_state(self, c, h):
        """Makes Variables the state; they are moved to the link's device."""
        self._set_states(c, h)

    def forward(self, x):
        """The output, which stays in `h`."""
        lstm_in = self.upward(x)
        if self.h is not None:
            lstm_in += self.lateral(self.h)
        else:
            self.h = zeros(self, (len(x), self.state_size), x.dtype)
        if self.c is None:
            self.c = zeros(self, (len(x), self.state_size), x.dtype)
        c, h = F.lstm(self.c, lstm_in)
        self.c = F.zoneout(self.c, c, self.c_ratio)
        self.h = F.zoneout(self.h, h, self.h_ratio)
        return self.h
