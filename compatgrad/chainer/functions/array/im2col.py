"""Patches of images."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.utils.conv import col2im_cpu, im2col_cpu  # noqa: F401  (programs find them here)


def _pair(x):
    return tuple(x) if hasattr(x, "__getitem__") else (x, x)


class Im2Col(_native.NativeFunction):
    op = "im2col"

    def __init__(self, ksize, stride, pad, cover_all, dilate):
        super().__init__(
            ksize=_pair(ksize), stride=_pair(stride), pad=_pair(pad), dilate=_pair(dilate),
            cover_all=cover_all,
        )  # fmt: skip

    kh = property(lambda self: self.op_params["ksize"][0])
    kw = property(lambda self: self.op_params["ksize"][1])
    sy = property(lambda self: self.op_params["stride"][0])
    sx = property(lambda self: self.op_params["stride"][1])
    ph = property(lambda self: self.op_params["pad"][0])
    pw = property(lambda self: self.op_params["pad"][1])
    dy = property(lambda self: self.op_params["dilate"][0])
    dx = property(lambda self: self.op_params["dilate"][1])
    cover_all = property(lambda self: self.op_params["cover_all"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim == 4)


def im2col(x, ksize, stride=1, pad=0, cover_all=False, dilate=1):
    """The patches of images `x` (n, c, h, w) that a convolution would see: (n, c * kh * kw, out_h, out_w).

    `ksize`, `stride`, `pad`, `dilate`: an int or a pair. `cover_all`: every pixel is in some patch.
    """
    return Im2Col(ksize, stride, pad, cover_all, dilate).apply((x,))[0]
