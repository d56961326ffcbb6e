"""Tree-LSTM cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class TreeLSTM(_native.NativeListFunction):
    op = "tree_lstm"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
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


def tree_lstm(*inputs: VariableOrArray) -> tuple[Variable, Variable]:
    """One step of a Tree-LSTM: the cell of each of the N children has a forget gate of its own.

    c = tanh(a) sigmoid(i) + the sum of c_k sigmoid(f_k), h = tanh(c) sigmoid(o).

    Args:
        *inputs: the children's cells, floating, (n, units, ...) each, then x of their dtype, (n, (3 + N) units, ...):
            a, i, o, f_1 to f_N, one after the other.

    Returns:
        Two Variables of the shape and dtype of the cells: the next cells, and outputs.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> c, h = F.tree_lstm(np.array([[1.0]]), np.array([[2.0]]), np.zeros((1, 5)))
        >>> c.array, h.array.round(4)
        (array([[1.5]]), array([[0.4526]]))

    Source: `chainer.functions.tree_lstm` of Chainer 7.8.1; Tai et al. 2015, Bowman et al. 2016.
    """
    return TreeLSTM().apply(inputs)
