"""Images in another size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class ResizeImages(_native.NativeFunction):
    documented = "resize_images"
    op = "resize"

    def __init__(self, output_shape: Sequence[int], mode: str, align_corners: bool) -> None:
        assert mode in ("bilinear", "nearest"), mode
        super().__init__(size=tuple(output_shape), align_corners=align_corners, mode=mode)

    out_H = _native.parameter("size", 0)
    out_W = _native.parameter("size", 1)
    mode = _native.parameter("mode")
    align_corners = _native.parameter("align_corners")

    @type_check._expects
    def check_type_forward(self, x):
        return x.dtype == numpy.float32, x.ndim == 4


def resize_images(
    x: VariableOrArray, output_shape: Sequence[int], *, mode: str = "bilinear", align_corners: bool = True
) -> Variable:
    """Images in another size, by interpolation.

    Args:
        x: float32, (n, c, h, w), n images of c channels.
        output_shape: height and width of the result.
        mode: "bilinear" or "nearest".
        align_corners: True aligns the centres of the corner pixels of both images; False aligns the images' edges.

    Returns:
        Variable (n, c, *output_shape), float32.

    Raises:
        AssertionError: unknown `mode`.
        ValueError: a length is not positive.
        chainer.utils.type_check.InvalidType: `x` is not float32 or has not 4 axes.

    Example:
        >>> F.resize_images(np.float32([[[[1, 3]]]]), (1, 3)).array
        array([[[[1., 2., 3.]]]], dtype=float32)

    Source: `chainer.functions.resize_images` of Chainer 7.8.1.
    """
    return ResizeImages(output_shape, mode, align_corners).apply((x,))[0]
