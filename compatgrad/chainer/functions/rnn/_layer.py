"""All time steps of a recurrent layer in one direction, as one function."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.utils import type_check

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


class RNNLayer(_native.NativeFunction):
    op = "rnn_layer"

    def check(self, inputs):
        super().check([x for x in inputs if x is not None])

    def check_type_forward(self, in_types):
        x, h = in_types[:2]
        w = in_types[3 if self.op_params["mode"] == "lstm" else 2]
        type_check.expect(
            x.dtype.kind == "f", h.dtype == x.dtype, w.dtype.kind == "f", x.ndim == 3, h.ndim == 2, w.ndim == 2,
            x.shape[1] == h.shape[0], x.shape[2] == GATES[self.op_params["mode"]] * h.shape[1],
            w.shape[0] == x.shape[2], w.shape[1] == h.shape[1],
        )  # fmt: skip
        if self.op_params["mode"] == "lstm":
            c = in_types[2]
            type_check.expect(c.dtype == x.dtype, c.ndim == 2, c.shape[0] == h.shape[0], c.shape[1] == h.shape[1])

    def _run_bound(self, inputs):
        given = iter(in_first_dtype([x for x in inputs if x is not None]))
        return super()._run_bound([None if x is None else next(given) for x in inputs])


def _checked(x, h, c, w, b, **params):
    y = RNNLayer(**params).apply((x, h, c, w, b))
    return y if len(y) > 1 else y[0]


rnn_layer = frontend.bind(
    "rnn_layer", _checked, module=__name__,
    doc="""The states (time, batch, units) and the op's other results. The inputs are x (time, batch, gates), the first
    h and c, and the weight and bias of the state; c and the bias may be None. Raises InvalidType if shapes or
    dtypes do not fit.""",
)  # fmt: skip
