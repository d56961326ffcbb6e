"""Two-dimensional transposed convolution."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.connection.convolution_2d import _UNSUPPORTED, _Placed2D
from compatgrad.chainer.utils import argument, conv, type_check


def _expect_outsize(function, x, w, outsize):
    """`outsize` is a size that convolution, with or without `cover_all`, reduces to that of x."""
    p = function.op_params
    for i, (n, s, m, d) in enumerate(zip(outsize, p["stride"], p["pad"], p["dilate"], strict=True)):
        lower, upper = (conv.get_conv_outsize(n, w.shape[i + 2], s, m, all, d) for all in (False, True))
        type_check.expect(lower <= x.shape[i + 2], x.shape[i + 2] <= upper)


def _natural_outsize(function, x, w):
    p = function.op_params
    sizes = zip(x.shape[2:], w.shape[2:], p["stride"], p["pad"], p["dilate"], strict=True)
    return [conv.get_deconv_outsize(*size[:4], d=size[4]) for size in sizes]


class Deconvolution2DFunction(_Placed2D):
    op = "deconvolution"
    cover_all = None

    def __init__(self, stride=1, pad=0, outsize=None, **kwargs):
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1), **_UNSUPPORTED)
        super().__init__(stride, pad, dilate, groups, outsize=None if outsize is None else tuple(outsize))

    outh = property(lambda self: (self.op_params["outsize"] or (None,))[0])
    outw = property(lambda self: (self.op_params["outsize"] or (None,))[-1])

    def _check_sizes(self, x, w):
        type_check.expect(x.shape[1] == w.shape[0])
        if self.op_params["outsize"] is not None:
            _expect_outsize(self, x, w, self.op_params["outsize"])

    def _out_channels(self, w):
        return w.shape[1] * self.groups

    def _run_bound(self, inputs):
        outsize = self.op_params["outsize"] or _natural_outsize(self, *inputs[:2])
        for name, n in zip(("Height", "Width"), outsize, strict=True):
            if n <= 0:
                raise RuntimeError(f"{name} in the output must be positive.")
        return self._bound._apply_as(self, *in_first_dtype(inputs), **dict(self.op_params, outsize=outsize))


def _checked(x, W, b, stride, pad, dilate, groups, outsize=None):
    function = Deconvolution2DFunction(stride, pad, outsize, dilate=dilate, groups=groups)
    return function.apply((x, W) if b is None else (x, W, b))[0]


_deconvolution = frontend.bind("deconvolution", _checked)
_pair = _spatial.pair


def deconvolution_2d(x, W, b=None, stride=1, pad=0, outsize=None, **kwargs):
    """Transposed convolution of x (N, C, H, W) with filters W (C, out / groups, kh, kw) and bias b (out,).

    `stride`, `pad`, `dilate` (default 1): an int or a pair. `groups` (default 1). `outsize`: height and width
    of the result; else the smallest that fit. Raises InvalidType where shapes or dtypes do not fit,
    RuntimeError where the output would be empty.
    """
    dilate = groups = 1
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, deterministic=_UNSUPPORTED["deterministic"])
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1))
    if outsize is not None or x.ndim != 4:
        return _checked(x, W, b, stride, pad, dilate, groups, outsize)
    return _deconvolution(x, W, b, _pair(stride), _pair(pad), _pair(dilate), groups)
