"""Patches of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.utils.conv import col2im_cpu, im2col_cpu  # noqa: F401  (programs find them here)

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


_pair = _spatial.pair  # Chainer has this name here too, and programs import it


class Im2Col(_spatial.Windows2D, _spatial.Dilated2D, _native.NativeFunction):
    op = "im2col"

    def __init__(self, ksize: IntOrInts, stride: IntOrInts, pad: IntOrInts, cover_all: bool, dilate: IntOrInts) -> None:
        super().__init__(
            ksize=_pair(ksize), stride=_pair(stride), pad=_pair(pad), dilate=_pair(dilate),
            cover_all=cover_all,
        )  # fmt: skip

    cover_all = _native.parameter("cover_all")

    @type_check._expects
    def check_type_forward(self, x):
        return x.dtype.kind == "f", x.ndim == 4


def im2col(
    x: VariableOrArray,
    ksize: IntOrInts,
    stride: IntOrInts = 1,
    pad: IntOrInts = 0,
    cover_all: bool = False,
    dilate: IntOrInts = 1,
) -> Variable:
    """The patches of images that a convolution would multiply with its filters.

    Args:
        x: floating, (n, c, h, w), n images of c channels.
        ksize: height and width of a patch (kh, kw); an int stands for both, here as below.
        stride: pixels from one patch to the next.
        pad: zeros on each side of the image.
        cover_all: True adds patches so that each pixel lies in a patch.
        dilate: distance between neighbouring pixels of a patch.

    Returns:
        Variable (n, c * kh * kw, out_h, out_w) of the dtype of `x`.

    Raises:
        ValueError: a patch is larger than the padded image.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or has not 4 axes.

    Example:
        >>> F.im2col(np.arange(6.0).reshape(1, 1, 2, 3), ksize=2).array[0, :, 0]
        array([[0., 1.],
               [1., 2.],
               [3., 4.],
               [4., 5.]])

    Source: `chainer.functions.im2col` of Chainer 7.8.1.
    """
    return Im2Col(ksize, stride, pad, cover_all, dilate).apply((x,))[0]
