"""Images in another size."""

import numpy

from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class ResizeImages(_native.NativeFunction):
    op = "resize"

    def __init__(self, output_shape, mode, align_corners):
        assert mode in ("bilinear", "nearest"), mode
        super().__init__(size=tuple(output_shape), align_corners=align_corners, mode=mode)

    out_H = property(lambda self: self.op_params["size"][0])
    out_W = property(lambda self: self.op_params["size"][1])
    mode = property(lambda self: self.op_params["mode"])
    align_corners = property(lambda self: self.op_params["align_corners"])

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype == numpy.float32, in_types[0].ndim == 4)


def resize_images(x, output_shape, *, mode="bilinear", align_corners=True):
    """Images `x` (n, c, h, w), float32, in the size `output_shape` (h, w), by interpolation.

    `mode`: "bilinear" or "nearest". `align_corners`: the centres of the corner pixels stay where they are;
    else the edges of the image do.
    """
    return ResizeImages(output_shape, mode, align_corners).apply((x,))[0]
