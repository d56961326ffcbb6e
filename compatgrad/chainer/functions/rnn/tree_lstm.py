"""Tree-LSTM cell."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class TreeLSTM(_native.NativeListFunction):
    op = "tree_lstm"

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


def tree_lstm(*inputs):
    """One step of a Tree-LSTM with N children: `(c, h)` from the children's cells and `x`, the last input.

    The cells are (batch, units). `x` (batch, (3 + N) * units) holds the input, the input and output gates and
    the N forget gates, one after the other (Tai et al. 2015, in the variant of Bowman et al. 2016).
    """
    return TreeLSTM().apply(inputs)
