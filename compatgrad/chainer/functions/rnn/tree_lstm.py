"""Tree-LSTM cell."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.activation.sigmoid import sigmoid
from compatgrad.chainer.functions.activation.tanh import tanh
from compatgrad.chainer.functions.array.split_axis import split_axis
from compatgrad.chainer.utils import type_check


class TreeLSTM(_native.NativeFunction):
    """Composed of elementary functions, and so differentiable any number of times."""

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() >= 2)
        cells, x = in_types[:-1], in_types[-1]
        type_check.expect(x.ndim >= 2)
        for c in cells:
            type_check.expect(
                c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, c.ndim == x.ndim,
                x.shape[0] == c.shape[0], x.shape[1] == (3 + len(cells)) * c.shape[1],
            )  # fmt: skip
            for j in range(2, type_check.eval(c.ndim)):
                type_check.expect(x.shape[j] == c.shape[j])

    def _run_bound(self, inputs):
        *cells, x = inputs
        a, i, o, *forget = split_axis(x, 3 + len(cells), axis=1)
        c = tanh(a) * sigmoid(i)
        for f, cell in zip(forget, cells, strict=True):
            c = c + sigmoid(f) * cell
        return c, sigmoid(o) * tanh(c)


def tree_lstm(*inputs):
    """One step of a Tree-LSTM with N children: `(c, h)` from the children's cells and `x`, the last input.

    The cells are (batch, units). `x` (batch, (3 + N) * units) holds the input, the input and output gates and
    the N forget gates, one after the other (Tai et al. 2015, in the variant of Bowman et al. 2016).
    """
    return TreeLSTM().apply(inputs)
