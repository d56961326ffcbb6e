"""Long short-term memory cell."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.rnn._gradients import (  # noqa: F401  (programs find them here)
    LSTMGrad,
    _extract_gates,
    _grad_grad_sigmoid,
    _grad_grad_tanh,
    _grad_sigmoid,
    _grad_tanh,
    _sigmoid,
)
from compatgrad.chainer.utils import type_check


class LSTM(_native.NativeFunction):
    op = "lstm"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("c", "x"))
        c, x = in_types
        type_check.expect(
            c.dtype.kind == "f", x.dtype == c.dtype, c.ndim >= 2, x.ndim >= 2, c.ndim == x.ndim,
            x.shape[0] <= c.shape[0], x.shape[1] == 4 * c.shape[1],
        )  # fmt: skip
        for i in range(2, type_check.eval(c.ndim)):
            type_check.expect(x.shape[i] == c.shape[i])


lstm = frontend.bind(
    "lstm", lambda c_prev, x: LSTM().apply((c_prev, x)), module=__name__,
    doc="""One step of an LSTM: `(c, h)` from cells `c_prev` (N, units) and gates' inputs `x` (n, 4 * units).

    The four numbers of a unit lie side by side in `x`: input, input gate, forget gate, output gate. Where
    `x` has fewer rows than `c_prev`, the remaining cells stay as they are. Raises InvalidType where shapes
    or dtypes do not fit.
    """,
)  # fmt: skip
