from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn import _state
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class StatefulZoneoutLSTM(_state.StatefulChain):
    """LSTM layer with zoneout: in training, elements of the cell and of the output keep their old values at random. It
    keeps cell `c` and output `h` from call to call: for x of shape (batch, in_size) it returns h of shape (batch,
    out_size).

    Args:
        in_size: length of the input vectors.
        out_size: length of the output vectors.
        c_ratio: the probability with which an element of the cell keeps its old value.
        h_ratio: the probability with which an element of the output keeps its old value.
        **kwargs: old names of options; each raises an error that names its replacement.

    Example:
        >>> link = L.StatefulZoneoutLSTM(3, 2)
        >>> link(np.ones((4, 3), np.float32)).shape
        (4, 2)

    Source: `chainer.links.StatefulZoneoutLSTM` of Chainer 7.8.1; Krueger et al., 2016.
    """

    _states = ("c", "h")

    def __init__(self, in_size: int, out_size: int, c_ratio: float = 0.5, h_ratio: float = 0.5, **kwargs: Any) -> None:
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

    def set_state(self, c: Variable, h: Variable) -> None:
        """Makes Variables the state; they are moved to the link's device."""
        self._set_states(c, h)

    def forward(self, x: VariableOrArray) -> Variable:
        """The output, which stays in `h`."""
        lstm_in = self.upward(x)
        if self.h is not None:
            lstm_in += self.lateral(self.h)
        else:
            self.h = _state.zeros(self, (len(x), self.state_size), x.dtype)
        if self.c is None:
            self.c = _state.zeros(self, (len(x), self.state_size), x.dtype)
        c, h = F.lstm(self.c, lstm_in)
        self.c = F.zoneout(self.c, c, self.c_ratio)
        self.h = F.zoneout(self.h, h, self.h_ratio)
        return self.h
