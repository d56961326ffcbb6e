"""Long short-term memory cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.rnn._gradients import *  # noqa: F403  (programs find them here)
from compatgrad.chainer.functions.rnn._gradients import LSTMGrad  # noqa: F401
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class LSTM(_native.NativeFunction):
    op = "lstm"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("c", "x"))
        c, x = in_types
        type_check.expect(
            c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, x.ndim >= 2, c.ndim == x.ndim,
            x.shape[0] <= c.shape[0], x.shape[1] == 4 * c.shape[1],
        )  # fmt: skip
        for i in range(2, type_check.eval(c.ndim)):
            type_check.expect(x.shape[i] == c.shape[i])


@_native.function(LSTM)
def lstm(c_prev: VariableOrArray, x: VariableOrArray) -> tuple[Variable, Variable]:
    """One step of a long short-term memory: c = tanh(a) sigmoid(i) + c_prev sigmoid(f), h = tanh(c) sigmoid(o).

    Args:
        c_prev: floating, (n, units, ...): cells.
        x: of the dtype of `c_prev`, (m, 4 units, ...) with m up to n: the input, the input gate, the forget gate and
            the output gate, (a, i, f, o) next to each other for each unit. Cells beyond m stay as they are.

    Returns:
        Two Variables of the dtype of `c_prev`: the next cells, of its shape, and outputs (m, units, ...).

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> c, h = F.lstm(np.array([[1.0]]), np.array([[0.0, 0.0, 0.0, 100.0]]))
        >>> c.array, h.array
        (array([[0.5]]), array([[0.46211716]]))

    Source: `chainer.functions.lstm` of Chainer 7.8.1; Hochreiter and Schmidhuber 1997, Gers et al. 2000.
    """
    return LSTM().apply((c_prev, x))
