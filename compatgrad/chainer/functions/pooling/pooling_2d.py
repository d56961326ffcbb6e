"""What pooling functions over two axes share."""

from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.utils import type_check

_pair = _spatial.pair  # programs find it here


class Pooling2D(_native.NativeFunction):
    def __init__(self, ksize, stride=None, pad=0, **params):
        super().__init__(
            ksize=_spatial.pair(ksize),
            stride=_spatial.pair(ksize if stride is None else stride),
            pad=_spatial.pair(pad),
            **params,
        )

    kh = property(lambda self: self.op_params["ksize"][0])
    kw = property(lambda self: self.op_params["ksize"][1])
    sy = property(lambda self: self.op_params["stride"][0])
    sx = property(lambda self: self.op_params["stride"][1])
    ph = property(lambda self: self.op_params["pad"][0])
    pw = property(lambda self: self.op_params["pad"][1])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == "f", in_types[0].ndim == 4)
