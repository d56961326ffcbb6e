"""The gradients of LSTM cells as functions, and helpers that programs import from the cells' modules. The cells do not
use them: the engine computes their gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions._composed import CallableFunction
from compatgrad.chainer.functions.activation.sigmoid import sigmoid
from compatgrad.chainer.functions.activation.tanh import tanh
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.stack import stack

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Variable


# what both modules of cells show
__all__ = ["_extract_gates", "_grad_grad_sigmoid", "_grad_grad_tanh", "_grad_sigmoid", "_grad_tanh", "_sigmoid"]


def _extract_gates(x):
    """Splits `x` (n, 4 * units, …), an array or a Variable, into the four gates, (n, units, …) each."""
    r = x.reshape((len(x), x.shape[1] // 4, 4, *x.shape[2:]))
    return [r[:, :, i] for i in range(4)]


def _sigmoid(x, xp=numpy):
    half = x.dtype.type(0.5)
    return half * xp.tanh(half * x) + half


def _grad_sigmoid(y):
    return y - y * y


def _grad_grad_sigmoid(y):
    return _grad_sigmoid(y) * (1 - 2 * y)


def _grad_tanh(y):
    return 1 - y * y


def _grad_grad_tanh(y, gy):
    return -2 * y * gy


def _join_gates(gates, shape):
    return reshape(stack(gates, axis=2), shape)


def _gates_gradients(g, c_prev, x):
    """From `g`, the gradient of the new cells, the gradients of a, i and f, the first three gates in `x`, and of
    `c_prev`."""
    a, i, f, _ = _extract_gates(x)
    a, i, f = tanh(a), sigmoid(i), sigmoid(f)
    return g * i * _grad_tanh(a), g * a * _grad_sigmoid(i), g * c_prev * _grad_sigmoid(f), g * f


class LSTMGrad(CallableFunction):
    """The gradients of `lstm` with respect to its two inputs, as a function of these, of its first output and of the
    outputs' gradients.

    An instance is called with (c_prev, x, c, gc, gh); the gradient `gc` or `gh` may be None.

    Example:
        >>> node = F.rnn.lstm.LSTMGrad()
        >>> gc_prev, gx = node(np.array([[1.0]]), np.zeros((1, 4)), np.array([[0.5]]), np.array([[1.0]]), None)
        >>> gc_prev.array, gx.array
        (array([[0.5]]), array([[0.5 , 0.  , 0.25, 0.  ]]))

    Source: `chainer.functions.rnn.lstm.LSTMGrad` of Chainer 7.8.1.
    """

    def compose(self, *given: Variable) -> tuple[Variable, Variable]:
        """The gradients of c_prev and x. `given` are those of (c_prev, x, c, gc, gh) that are not None."""
        c_prev, x, c_next, gc, gh = self.all_inputs(given)
        batch = len(x)
        co, o = tanh(c_next[:batch]), sigmoid(_extract_gates(x)[3])
        g = 0 * co if gc is None else gc[:batch]
        go = 0 * co
        if gh is not None:
            g = g + gh * o * _grad_tanh(co)
            go = gh * co * _grad_sigmoid(o)
        ga, gi, gf, gc_prev = _gates_gradients(g, c_prev[:batch], x)
        if len(c_prev) > batch:
            rest = c_prev[batch:] * 0 if gc is None else gc[batch:]
            gc_prev = concat([gc_prev, rest], axis=0)
        return gc_prev, _join_gates([ga, gi, gf, go], x.shape)


class SLSTMGrad(CallableFunction):
    """The gradients of `slstm` with respect to its four inputs, as a function of these, of its first output and of the
    outputs' gradients.

    An instance is called with (c_prev1, c_prev2, x1, x2, c, gc, gh); the gradient `gc` or `gh` may be None.

    Example:
        >>> node, c, x = F.rnn.slstm.SLSTMGrad(), np.array([[1.0]]), np.zeros((1, 4))
        >>> gc_prev1, gc_prev2, gx1, gx2 = node(c, c, x, x, c, np.array([[1.0]]), None)
        >>> gc_prev1.array, gx1.array
        (array([[0.5]]), array([[0.5 , 0.  , 0.25, 0.  ]]))

    Source: `chainer.functions.rnn.slstm.SLSTMGrad` of Chainer 7.8.1.
    """

    def compose(self, *given: Variable) -> tuple[Variable, Variable, Variable, Variable]:
        """The gradients of c_prev1, c_prev2, x1 and x2. `given` are those of (c_prev1, c_prev2, x1, x2, c, gc, gh) that
        are not None."""
        c_prev1, c_prev2, x1, x2, c_next, gc, gh = self.all_inputs(given)
        co, o = tanh(c_next), sigmoid(_extract_gates(x1)[3] + _extract_gates(x2)[3])
        g = 0 * co if gc is None else gc
        go = 0 * co
        if gh is not None:
            g = g + gh * o * _grad_tanh(co)
            go = gh * co * _grad_sigmoid(o)
        ga1, gi1, gf1, gc_prev1 = _gates_gradients(g, c_prev1, x1)
        ga2, gi2, gf2, gc_prev2 = _gates_gradients(g, c_prev2, x2)
        gx1, gx2 = _join_gates([ga1, gi1, gf1, go], x1.shape), _join_gates([ga2, gi2, gf2, go], x2.shape)
        return gc_prev1, gc_prev2, gx1, gx2
