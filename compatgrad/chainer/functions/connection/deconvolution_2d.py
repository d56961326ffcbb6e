"""Two-dimensional transposed convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.connection.convolution_2d import _UNSUPPORTED, _Placed2D
from compatgrad.chainer.utils import argument, conv, type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_pair = _spatial.pair  # Chainer has this name here too, and programs import it


def _expect_outsize(function, x, w, outsize):
    """Checks that a convolution of a result of size `outsize`, with or without `cover_all`, has the size of x."""
    p = function.op_params
    for i, (n, s, m, d) in enumerate(zip(outsize, p["stride"], p["pad"], p["dilate"], strict=True)):
        lower, upper = (conv.get_conv_outsize(n, w.shape[i + 2], s, m, all, d) for all in (False, True))
        type_check.expect(lower <= x.shape[i + 2], x.shape[i + 2] <= upper)


def _natural_outsize(function, x, w):
    p = function.op_params
    sizes = zip(x.shape[2:], w.shape[2:], p["stride"], p["pad"], p["dilate"], strict=True)
    return [conv.get_deconv_outsize(*size[:4], d=size[4]) for size in sizes]


class Deconvolution2DFunction(_Placed2D):
    documented = "deconvolution_2d"
    op = "deconvolution"
    cover_all = None

    def __init__(
        self, stride: IntOrInts = 1, pad: IntOrInts = 0, outsize: Sequence[int] | None = None, **kwargs: Any
    ) -> None:
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1), **_UNSUPPORTED)
        super().__init__(stride, pad, dilate, groups, outsize=None if outsize is None else tuple(outsize))

    outh = property(
        lambda self: (self.op_params["outsize"] or (None,))[0],
        doc="Height of the result in the call; None: the smallest.",
    )
    outw = property(
        lambda self: (self.op_params["outsize"] or (None,))[-1],
        doc="Width of the result in the call; None: the smallest.",
    )

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
    return _native.applied(Deconvolution2DFunction(stride, pad, outsize, dilate=dilate, groups=groups), x, W, b)


_deconvolution = frontend.bind("deconvolution", _checked)


def deconvolution_2d(
    x: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
    outsize: Sequence[int] | None = None,
    **kwargs: Any,
) -> Variable:
    """Transposed convolution of images: each input pixel adds the filter, multiplied by the pixel, to a patch of the
    result.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        W: floating, (c, out / groups, kh, kw).
        b: of the dtype of `x`, (out,); None for none.
        stride: step of the filter along each axis, or one number for both.
        pad: zeros around each side of the image, for each axis or one number for both.
        outsize: height and width of the result; None: the smallest possible.
        **kwargs: `dilate` (1): distance between the filter's elements; `groups` (1): number of groups of channels; an
            output channel is computed from the input channels of its group.

    Returns:
        Variable of the dtype of `x`, (n, out, out_h, out_w) with out_h = stride (h - 1) + dilate (kh - 1) + 1 - 2 pad
        unless `outsize` says more.

    Raises:
        ValueError: `dilate` is not positive, or `groups` does not divide the input channels.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit, or a convolution of a result of `outsize`
            would not have the size of `x`.
        RuntimeError: the result would be empty.
        TypeError: there is an unknown option.

    Example:
        >>> F.deconvolution_2d(np.array([[[[1.0, 10.0]]]]), np.ones((1, 1, 1, 2))).array
        array([[[[ 1., 11., 10.]]]])

    Source: `chainer.functions.deconvolution_2d` of Chainer 7.8.1.
    """
    dilate = groups = 1
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, deterministic=_UNSUPPORTED["deterministic"])
        dilate, groups = argument.parse_kwargs(kwargs, ("dilate", 1), ("groups", 1))
    if outsize is not None or x.ndim != 4:
        return _checked(x, W, b, stride, pad, dilate, groups, outsize)
    return _deconvolution(x, W, b, _pair(stride), _pair(pad), _pair(dilate), groups)
