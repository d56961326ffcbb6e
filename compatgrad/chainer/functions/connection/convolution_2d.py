"""Two-dimensional convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_pair = _spatial.pair  # Chainer has this name here too, and programs import it

_UNSUPPORTED = {
    "deterministic": "deterministic argument is not supported anymore. Use chainer.using_config("
    "'cudnn_deterministic', value) context where value is either `True` or `False`.",
    "requires_x_grad": "requires_x_grad argument is not supported anymore. Just remove the argument.",
}


class _Placed2D(_spatial.Dilated2D, _native.NativeFunction):
    """Stride, padding and dilation: the base of convolutions and transposed convolutions."""

    def __init__(self, stride: IntOrInts, pad: IntOrInts, dilate: IntOrInts, groups: int, **params: Any) -> None:
        super().__init__(
            stride=_spatial.pair(stride),
            pad=_spatial.pair(pad),
            dilate=_spatial.pair(dilate),
            groups=groups,
            **params,
        )
        if min(self.dy, self.dx) < 1:
            raise ValueError(f"Dilate should be positive, but {dilate} is supplied.")

    groups = _native.parameter("groups")

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
    documented = "convolution_2d"
    op = "convolution"

    def __init__(self, stride: IntOrInts = 1, pad: IntOrInts = 0, cover_all: bool = False, **kwargs: Any) -> None:
        dilate, groups, self.cudnn_fast = argument.parse_kwargs(
            kwargs, ("dilate", 1), ("groups", 1), ("cudnn_fast", False), **_UNSUPPORTED
        )
        super().__init__(stride, pad, dilate, groups, outsize=None)
        self._cover_all = cover_all

    _cover_all = None

    @property
    def cover_all(self):
        """Whether the filter is also placed at the ends, where a whole stride does not fit, so that every pixel is
        used."""
        return self.op_params["outsize"] is not None if self._cover_all is None else self._cover_all

    def _check_sizes(self, x, w):
        type_check.expect(x.shape[1] == w.shape[1] * self.groups)

    def _out_channels(self, w):
        return w.shape[0]

    def _run_bound(self, inputs):
        if self.cudnn_fast:
            raise RuntimeError("'cudnn_fast' can't be used: the engine does not have cuDNN's layout")
        x, w = inputs[:2]
        p = self.op_params
        outsize = _spatial.outsize(x.shape[2:], w.shape[2:], p["stride"], p["pad"], p["dilate"], self.cover_all)
        params = dict(p, outsize=outsize if self.cover_all else None)
        return self._bound._apply_as(self, *in_first_dtype(inputs), **params)


class Convolution2DGradW(_Placed2D):
    """The gradient of `convolution_2d` with respect to the filters; it is a node where a gradient is differentiated
    again.

    Args:
        stride: step of the filter along each axis.
        pad: zeros around each side of the image.
        dilate: distance between the filter's elements.
        groups: number of groups of channels.
        **params: `ksize`, height and width of the filters, and `outsize`.

    Example:
        >>> x, W = np.ones((1, 1, 2, 2)), chainer.Variable(np.ones((1, 1, 1, 1)))
        >>> gW, = chainer.grad([F.convolution_2d(x, W) ** 2], [W], enable_double_backprop=True)
        >>> gW.creator.label, gW.shape
        ('Convolution2DGradW', (1, 1, 1, 1))

    Source: `chainer.functions.connection.convolution_2d.Convolution2DGradW` of Chainer 7.8.1.
    """

    op = "convolution_grad_w"

    kh = _native.parameter("ksize", 0)
    kw = _native.parameter("ksize", 1)


def _checked(x, W, b, stride, pad, dilate, groups, cover_all=False, cudnn_fast=False):
    function = Convolution2DFunction(stride, pad, cover_all, dilate=dilate, groups=groups, cudnn_fast=cudnn_fast)
    return _native.applied(function, x, W, b)


_convolution = frontend.bind("convolution", _checked)


def convolution_2d(
    x: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
    cover_all: bool = False,
    **kwargs: Any,
) -> Variable:
    """Convolution of images: each output pixel is the sum over a patch of the image, weighted by the filter of the
    output channel, plus b.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        W: floating, (out, c / groups, kh, kw).
        b: of the dtype of `x`, (out,); None for none.
        stride: step of the filter along each axis, or one number for both.
        pad: zeros around each side of the image, for each axis or one number for both.
        cover_all: True adds positions of the filter, so that every pixel is used.
        **kwargs: `dilate` (1): distance between the filter's elements; `groups` (1): number of groups of channels,
            where an output channel is computed from the input channels of its group; `cudnn_fast`: must be False.

    Returns:
        Variable of the dtype of `x`, (n, out, out_h, out_w) with out_h = (h + 2 pad - dilate (kh - 1) - 1) // stride +
        1.

    Raises:
        ValueError: `dilate` is not positive, or `groups` does not divide the output channels.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: the result would be empty.
        RuntimeError: `cudnn_fast` is True.
        TypeError: there is an unknown option.

    Example:
        >>> F.convolution_2d(np.arange(9.0).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2)), np.array([0.5])).array
        array([[[[ 8.5, 12.5],
                 [20.5, 24.5]]]])

    Source: `chainer.functions.convolution_2d` of Chainer 7.8.1.
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
