"""Sequences of different lengths as one array."""

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class PadSequence(_native.NativeListFunction):
    op = "pad_sequence"

    def __init__(self, length, padding):
        super().__init__(length=length, value=padding)

    length = property(lambda self: self.op_params["length"])
    padding = property(lambda self: self.op_params["value"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(t.ndim > 0, t.shape[1:] == in_types[0].shape[1:], t.dtype == in_types[0].dtype)
            if self.length is not None:
                type_check.expect(t.shape[0] <= self.length)


_pad_sequence = frontend.bind(
    "pad_sequence", lambda xs, length, padding: PadSequence(length, padding).apply(xs)[0], dtype="same"
)


def pad_sequence(xs, length=None, padding=0):
    """The sequences `xs` as the rows of one array (len(xs), length, …), filled up with `padding`.

    `length` None: that of the longest. Raises InvalidType where a sequence is longer, or other axes differ.
    """
    return _pad_sequence(xs if isinstance(xs, (list, _C.Variable)) else list(xs), length, padding)
