"""S-LSTM cell: an LSTM with two inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.rnn._gradients import *  # noqa: F403  (programs find them here)
from compatgrad.chainer.functions.rnn._gradients import SLSTMGrad  # noqa: F401
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class SLSTM(_native.NativeFunction):
    op = "slstm"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("c_prev1", "c_prev2", "x1", "x2"))
        c1, c2, x1, x2 = in_types
        type_check.expect(c1.dtype.kind == "f", c1.ndim >= 2)
        for t in (c2, x1, x2):
            type_check.expect(t.dtype == c1.dtype, t.ndim == c1.ndim, t.shape[0] == c1.shape[0])
        type_check.expect(x1.shape[1] == 4 * c1.shape[1], x2.shape[1] == 4 * c2.shape[1])
        for i in range(2, type_check.eval(c1.ndim)):
            type_check.expect(x1.shape[i] == c1.shape[i], x2.shape[i] == c2.shape[i], x1.shape[i] == x2.shape[i])


@_native.function(SLSTM)
def slstm(
    c_prev1: VariableOrArray, c_prev2: VariableOrArray, x1: VariableOrArray, x2: VariableOrArray
) -> tuple[Variable, Variable]:
    """One step of an S-LSTM, an LSTM with two inputs.

    c is the sum of tanh(a) sigmoid(i) + c_prev sigmoid(f) of both; h = tanh(c) sigmoid(o1 + o2).

    Args:
        c_prev1, c_prev2: floating, (n, units, ...): cells.
        x1, x2: of the dtype of `c_prev1`, (n, 4 units, ...): the input, the input gate, the forget gate and the output
            gate, side by side for each unit (a, i, f, o).

    Returns:
        Two Variables of the shape and dtype of `c_prev1`: the next cells, and outputs.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> x = np.zeros((1, 4))
        >>> c, h = F.slstm(np.array([[1.0]]), np.array([[2.0]]), x, x)
        >>> c.array, h.array.round(4)
        (array([[1.5]]), array([[0.4526]]))

    Source: `chainer.functions.slstm` of Chainer 7.8.1; Zhu et al. 2015.
    """
    return SLSTM().apply((c_prev1, c_prev2, x1, x2))
