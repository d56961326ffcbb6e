import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, utils
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn._state import StatefulChain, zeros


class LSTMBase(link.Chain):
    """Parameters of an LSTM layer: `upward` (with bias) and `lateral`, whose 4 * out_size rows interleave the
    gates.

    `in_size=None`, or leaving it out, lets the first input tell the size.
    """

    def __init__(
        self,
        in_size,
        out_size=None,
        lateral_init=None,
        upward_init=None,
        bias_init=None,
        forget_bias_init=None,
    ):
        if out_size is None:
            out_size, in_size = in_size, None
        super().__init__()
        self.state_size = out_size
        self.lateral_init = lateral_init
        self.upward_init = upward_init
        self.bias_init = 0 if bias_init is None else bias_init
        self.forget_bias_init = 1 if forget_bias_init is None else forget_bias_init
        with self.init_scope():
            self.upward = Linear(in_size, 4 * out_size, initialW=0)
            self.lateral = Linear(out_size, 4 * out_size, initialW=0, nobias=True)
            if in_size is not None:
                self._initialize_params()

    def _initialize_params(self):
        lateral_init, upward_init, bias_init, forget_bias_init = map(
            initializers._get_initializer,
            (self.lateral_init, self.upward_init, self.bias_init, self.forget_bias_init),
        )
        size = self.state_size
        for i in range(0, 4 * size, size):
            lateral_init(self.lateral.W.array[i : i + size, :])
            upward_init(self.upward.W.array[i : i + size, :])
        gates = self.upward.b.array.reshape(size, 4, 1)  # element 4 j + k is gate k of unit j
        for k, init in enumerate((bias_init, bias_init, forget_bias_init, bias_init)):
            init(gates[numpy.newaxis, :, k])

    def _initialize_from_input(self, in_size):
        with chainer.using_device(self.device):
            self.upward._initialize_params(in_size)
            self._initialize_params()


class StatelessLSTM(LSTMBase):
    """LSTM layer without a state of its own: `c, h = link(c, h, x)`."""

    def forward(self, c, h, x):
        """New cell and output; `c` and `h` may be None."""
        if self.upward.W.tensor is None:
            self._initialize_from_input(x.size // x.shape[0])
        lstm_in = self.upward(x)
        if h is not None:
            lstm_in += self.lateral(h)
        if c is None:
            c = zeros(self, (x.shape[0], self.state_size), x.dtype)
        return F.lstm(c, lstm_in)


class LSTM(LSTMBase, StatefulChain):
    """LSTM layer that keeps cell `c` and output `h` from call to call: x (N, in_size) to (N, out_size).

    `LSTM(in_size, out_size)`, or `LSTM(out_size)` or `in_size=None`, where the first input tells the size.
    `lateral_init`, `upward_init`: initializers of the weights of h and x; `bias_init`, `forget_bias_init`: of
    the biases (by default 0, and 1 for the forget gate). `reset_state()` forgets c and h.

        >>> import numpy as np
        >>> import chainer.links as L
        >>> link = L.LSTM(3, 2)
        >>> link(np.ones((4, 3), np.float32)).shape, link.c.shape
        ((4, 2), (4, 2))
    """

    _states = ("c", "h")

    def __init__(
        self,
        in_size,
        out_size=None,
        lateral_init=None,
        upward_init=None,
        bias_init=None,
        forget_bias_init=None,
    ):
        if out_size is None:
            in_size, out_size = None, in_size
        super().__init__(in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init)
        self.reset_state()

    def set_state(self, c, h):
        """Makes Variables the state; they are moved to the link's device."""
        self._set_states(c, h)

    def forward(self, x):
        """The output; a batch smaller than the state updates the state's first rows, TypeError for a
        larger one."""
        if self.upward.W.tensor is None:
            self._initialize_from_input(utils.size_of_shape(x.shape[1:]))
        batch = x.shape[0]
        lstm_in = self.upward(x)
        h, h_rest = self.h, None
        if h is not None:
            h_size = h.shape[0]
            if batch == 0:
                h_rest = h
            elif h_size < batch:
                raise TypeError(
                    "The batch size of x must be equal to or less than the size of the previous state h. "
                    f"Actual: {batch} and {h_size}"
                )
            elif h_size > batch:
                h, h_rest = F.split_axis(h, [batch], axis=0)
                lstm_in += self.lateral(h)
            else:
                lstm_in += self.lateral(h)
        if self.c is None:
            self.c = zeros(self, (batch, self.state_size), x.dtype)
        self.c, y = F.lstm(self.c, lstm_in)
        if h_rest is None:
            self.h = y
        elif len(y) == 0:
            self.h = h_rest
        else:
            self.h = F.concat([y, h_rest], axis=0)
        return y
