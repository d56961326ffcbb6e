"""S-LSTM cell: an LSTM with two inputs."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.rnn._gradients import (  # noqa: F401  (programs find them here)
    SLSTMGrad,
    _extract_gates,
    _grad_grad_sigmoid,
    _grad_grad_tanh,
    _grad_sigmoid,
    _grad_tanh,
    _sigmoid,
)
from compatgrad.chainer.utils import type_check


class SLSTM(_native.NativeFunction):
    op = "slstm"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("c_prev1", "c_prev2", "x1", "x2"))
        c1, c2, x1, x2 = in_types
        type_check.expect(c1.dtype.kind == "f", c1.ndim >= 2)
        for t in (c2, x1, x2):
            type_check.expect(t.dtype == c1.dtype, t.ndim == c1.ndim, t.shape[0] == c1.shape[0])
        type_check.expect(x1.shape[1] == 4 * c1.shape[1], x2.shape[1] == 4 * c2.shape[1])
        for i in range(2, type_check.eval(c1.ndim)):
            type_check.expect(x1.shape[i] == c1.shape[i], x2.shape[i] == c2.shape[i], x1.shape[i] == x2.shape[i])


slstm = frontend.bind(
    "slstm", lambda c_prev1, c_prev2, x1, x2: SLSTM().apply((c_prev1, c_prev2, x1, x2)), module=__name__,
    doc="""One step of an S-LSTM (Zhu et al. 2015): `(c, h)` from two cells (N, units) and their inputs.

    In an input (N, 4 * units), the four numbers of a unit lie side by side: input, input gate, forget gate,
    output gate. Raises InvalidType where shapes or dtypes do not fit.
    """,
)  # fmt: skip
