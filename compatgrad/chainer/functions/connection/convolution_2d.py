"""Two-dimensional convolution."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.utils import argument, type_check

_UNSUPPORTED = {
    "deterministic": "deterministic argument is not supported anymore. Use chainer.using_config("
    "'cudnn_deterministic', value) context where value is either `True` or `False`.",
    "requires_x_grad": "requires_x_grad argument is not supported anymore. Just remove the argument.",
}


class _Placed2D(_native.NativeFunction):
    """Where a filter is placed on images: what convolutions and transposed convolutions share."""

    def __init__(self, stride, pad, dilate, groups, **params):
        super().__init__(
            stride=_spatial.pair(stride),
            pad=_spatial.pair(pad),
            dilate=_spatial.pair(dilate),
            groups=groups,
            **params,
        )
        if min(self.dy, self.dx) < 1:
            raise ValueError(f"Dilate should be positive, but {dilate} is supplied.")

    sy = property(lambda self: self.op_params["stride"][0])
    sx = property(lambda self: self.op_params["stride"][1])
    ph = property(lambda self: self.op_params["pad"][0])
    pw = property(lambda self: self.op_params["pad"][1])
    dy = property(lambda self: self.op_params["dilate"][0])
    dx = property(lambda self: self.op_params["dilate"][1])
    groups = property(lambda self: self.op_params["groups"])

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check.expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 4, w.ndim == 4)
        self._check_sizes(x, w)
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check.expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == self._out_channels(w))


class Convolution2DFunction(_Placed2D):
    op = "convolution"

    def __init__(self, stride=1, pad=0, cover_all=False, **kwargs):
        dilate, groups, self.cudnn_fast = argument.parse_kwargs(
            kwargs, ("dilate", 1), ("groups", 1), ("cudnn_fast", False), **_UNSUPPORTED
        )
        super().__init__(stride, pad, dilate, groups, outsize=None)
        self._cover_all = cover_all

    _cover_all = None

    @property
    def cover_all(self):
        return self.op_params["outsize"] is not None if self._cover_all is None else self._cover_all

    def _check_sizes(self, x, w):
        type_check.expect(x.shape[1] == w.shape[1] * self.groups)

    def _out_channels(self, w):
        return w.shape[0]

    def _run_bound(self, inputs):
        if self.cudnn_fast:
            raise RuntimeError("'cudnn_fast' can't be used: there is no such layout in the engine")
        x, w = inputs[:2]
        p = self.op_params
        outsize = _spatial.outsize(x.shape[2:], w.shape[2:], p["stride"], p["pad"], p["dilate"], self.cover_all)
        params = dict(p, outsize=outsize if self.cover_all else None)
        return self._bound._apply_as(self, *in_first_dtype(inputs), **params)


class Convolution2DGradW(_Placed2D):
    op = "convolution_grad_w"

    kh = property(lambda self: self.op_params["ksize"][0])
    kw = property(lambda self: self.op_params["ksize"][1])


def _checked(x, W, b, stride, pad, dilate, groups, cover_all=False, cudnn_fast=False):
    function = Convolution2DFunction(stride, pad, cover_all, dilate=dilate, groups=groups, cudnn_fast=cudnn_fast)
    return function.apply((x, W) if b is None else (x, W, b))[0]


_convolution = frontend.bind("convolution", _checked)
_pair = _spatial.pair


def convolution_2d(x, W, b=None, stride=1, pad=0, cover_all=False, **kwargs):
    """Two-dimensional convolution of x (N, C, H, W) with filters W (out, C / groups, kh, kw) and bias b
    (out,).

    `stride`, `pad`, `dilate` (default 1): an int or a pair. `groups` (default 1). `cover_all`: every input
    element is covered by an output. Raises InvalidType where shapes or dtypes do not fit, RuntimeError where
    the output would be empty.
    """
    if kwargs:
        dilate, groups, cudnn_fast = argument.parse_kwargs(
            kwargs, ("dilate", 1), ("groups", 1), ("cudnn_fast", False), **_UNSUPPORTED
        )
    else:
        dilate = groups = 1
        cudnn_fast = False
    if cover_all or cudnn_fast or x.ndim != 4:
        return _checked(x, W, b, stride, pad, dilate, groups, cover_all, cudnn_fast)
    return _convolution(x, W, b, _pair(stride), _pair(pad), _pair(dilate), groups)
