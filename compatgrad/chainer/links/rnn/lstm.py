from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, utils
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.rnn import _state

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class LSTMBase(link.Chain):
    """Parameters of an LSTM layer: `upward` (with bias) and `lateral`, whose 4 * out_size rows interleave the gates.

    `in_size=None`, or leaving it out, makes the first input determine the size.

    The base of `LSTM` and `StatelessLSTM`.

    Args:
        in_size: length of the input vectors; None takes it from the first input. With `out_size` left out, the place of
            `out_size`.
        out_size: length of the output vectors.
        lateral_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        upward_init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.
        forget_bias_init: initializer of the forget gate's bias; None is 1.

    Example:
        >>> link = L.StatelessLSTM(2, 3)
        >>> link.upward.W.shape, link.lateral.W.shape
        ((12, 2), (12, 3))

    Source: `chainer.links.rnn.lstm.LSTMBase` of Chainer 7.8.1; Hochreiter and Schmidhuber, 1997.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        lateral_init: Initializer = None,
        upward_init: Initializer = None,
        bias_init: Initializer = None,
        forget_bias_init: Initializer = None,
    ) -> None:
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
        gates = self.upward.b.array.reshape(size, 4, 1)  # element 4 j + k belongs to gate k of unit j
        for k, init in enumerate((bias_init, bias_init, forget_bias_init, bias_init)):
            init(gates[numpy.newaxis, :, k])

    def _initialize_from_input(self, in_size):
        with chainer.using_device(self.device):
            self.upward._initialize_params(in_size)
            self._initialize_params()


class StatelessLSTM(LSTMBase):
    """A step of an LSTM layer: `c, h = link(c, h, x)`, with x of shape (batch, in_size), cell c and output h of shape
    (batch, out_size), all floating-point; c and h may be None, which stands for zeros.

    Args:
        in_size: length of the input vectors; None takes it from the first input. With `out_size` left out, the place of
            `out_size`.
        out_size: length of the output vectors.
        lateral_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        upward_init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.
        forget_bias_init: initializer of the forget gate's bias; None is 1.

    Example:
        >>> link = L.StatelessLSTM(2, 3)
        >>> c, h = link(None, None, np.ones((4, 2), np.float32))
        >>> c.shape, h.shape
        ((4, 3), (4, 3))

    Source: `chainer.links.StatelessLSTM` of Chainer 7.8.1; Hochreiter and Schmidhuber, 1997.
    """

    def forward(
        self, c: VariableOrArray | None, h: VariableOrArray | None, x: VariableOrArray
    ) -> tuple[Variable, Variable]:
        """New cell and output; `c` and `h` may be None."""
        if self.upward.W.tensor is None:
            self._initialize_from_input(x.size // x.shape[0])
        lstm_in = self.upward(x)
        if h is not None:
            lstm_in += self.lateral(h)
        if c is None:
            c = _state.zeros(self, (x.shape[0], self.state_size), x.dtype)
        return F.lstm(c, lstm_in)


class LSTM(LSTMBase, _state.StatefulChain):
    """LSTM layer that keeps cell `c` and output `h` from call to call: for x of shape (batch, in_size) it returns h of
    shape (batch, out_size), floating-point. `reset_state()` drops c and h.

    A batch that is smaller than the last one updates the first rows of the state alone, for sequences sorted by
    descending length; a larger batch raises TypeError.

    Args:
        in_size: length of the input vectors; None takes it from the first input. With `out_size` left out, the place of
            `out_size`.
        out_size: length of the output vectors.
        lateral_init: initializer of the weights that act on the state; None is `LeCunNormal()`.
        upward_init: initializer of the weights that act on the input; None is `LeCunNormal()`.
        bias_init: initializer of the biases; None is 0.
        forget_bias_init: initializer of the forget gate's bias; None is 1.

    Example:
        >>> link = L.LSTM(3, 2)
        >>> link(np.ones((4, 3), np.float32)).shape, link.c.shape
        ((4, 2), (4, 2))

    Source: `chainer.links.LSTM` of Chainer 7.8.1; Hochreiter and Schmidhuber, 1997.
    """

    _states = ("c", "h")

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        lateral_init: Initializer = None,
        upward_init: Initializer = None,
        bias_init: Initializer = None,
        forget_bias_init: Initializer = None,
    ) -> None:
        if out_size is None:
            in_size, out_size = None, in_size
        super().__init__(in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init)
        self.reset_state()

    def set_state(self, c: Variable, h: Variable) -> None:
        """Sets cell and output to Variables, which are moved to the link's device."""
        self._set_states(c, h)

    def forward(self, x: VariableOrArray) -> Variable:
        """The output. A batch smaller than the state updates the state's first rows; a larger one raises TypeError."""
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
            self.c = _state.zeros(self, (batch, self.state_size), x.dtype)
        self.c, y = F.lstm(self.c, lstm_in)
        if h_rest is None:
            self.h = y
        elif len(y) == 0:
            self.h = h_rest
        else:
            self.h = F.concat([y, h_rest], axis=0)
        return y
