"""S-LSTM cell: an LSTM with two inputs."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.activation.sigmoid import sigmoid
from compatgrad.chainer.functions.activation.tanh import tanh
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.separate import separate
from compatgrad.chainer.utils import type_check


def _gates(x):
    return separate(reshape(x, (x.shape[0], x.shape[1] // 4, 4, *x.shape[2:])), axis=2)


class SLSTM(_native.NativeFunction):
    """Composed of elementary functions."""

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("c_prev1", "c_prev2", "x1", "x2"))
        c1, c2, x1, x2 = in_types
        type_check.expect(c1.dtype.kind == "f", c1.ndim >= 2)
        for t in (c2, x1, x2):
            type_check.expect(t.dtype == c1.dtype, t.ndim == c1.ndim, t.shape[0] == c1.shape[0])
        type_check.expect(x1.shape[1] == 4 * c1.shape[1], x2.shape[1] == 4 * c2.shape[1])
        for i in range(2, type_check.eval(c1.ndim)):
            type_check.expect(
                x1.shape[i] == c1.shape[i], x2.shape[i] == c2.shape[i], x1.shape[i] == x2.shape[i]
            )

    def _run_bound(self, inputs):
        c_prev1, c_prev2, x1, x2 = inputs
        a1, i1, f1, o1 = _gates(x1)
        a2, i2, f2, o2 = _gates(x2)
        c = tanh(a1) * sigmoid(i1) + tanh(a2) * sigmoid(i2) + sigmoid(f1) * c_prev1 + sigmoid(f2) * c_prev2
        return c, sigmoid(o1 + o2) * tanh(c)


def slstm(c_prev1, c_prev2, x1, x2):
    """One step of an S-LSTM (Zhu et al. 2015): `(c, h)` from two cells (N, units) and their inputs.

    In an input (N, 4 * units), the four numbers of a unit lie side by side: input, input gate, forget gate,
    output gate.
    """
    return SLSTM().apply((c_prev1, c_prev2, x1, x2))
