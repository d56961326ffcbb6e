"""Images sampled at points."""

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.spatial_transformer_grid import USE_CUDNN
from compatgrad.chainer.functions.math.clip import clip
from compatgrad.chainer.utils import argument, type_check

_get_item = frontend.bind("get_item", dtype="any")
_pad = frontend.bind("pad", dtype="any")
_transpose = frontend.bind("transpose", dtype="any")


def _neighbours(u, length):
    """The pixel before each coordinate (-1 to 1) in the padded image, the weights of it and of the next."""
    u = clip((u + 1) * ((length - 1) / 2) + 1, 0, length + 1)
    before = numpy.clip(numpy.floor(u.array), 0, length)
    after_weight = u - before
    return before.astype(numpy.intp), 1 - after_weight, after_weight


class SpatialTransformerSampler(_native.NativeFunction):
    op = None

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        x, grid = in_types
        type_check.expect(
            x.dtype.kind == "f", grid.dtype == x.dtype, x.ndim == 4, grid.ndim == 4, grid.shape[1] == 2,
            x.shape[0] == grid.shape[0],
        )  # fmt: skip

    def _run_bound(self, inputs):
        x, grid = inputs
        h, w = x.shape[2:]
        u0, wu0, wu1 = _neighbours(_get_item(grid, (slice(None), 0)), w)
        v0, wv0, wv1 = _neighbours(_get_item(grid, (slice(None), 1)), h)
        x = _pad(x, [0, 0, 0, 0, 1, 1, 1, 1])
        sample = backend.get_array_module(x).arange(len(x))[:, None, None]
        y = 0
        for v, wv in ((v0, wv0), (v0 + 1, wv1)):
            for u, wu in ((u0, wu0), (u0 + 1, wu1)):
                pixels = _get_item(x, (sample, slice(None), v, u))  # (n, h, w, c)
                y = y + pixels * (wv * wu)[..., None]
        return _transpose._apply_as(self, y, (0, 3, 1, 2))


def spatial_transformer_sampler(x, grid, **kwargs):
    """Images `x` (n, c, h, w) at the points `grid` (n, 2, out_h, out_w), by bilinear interpolation.

    The first coordinate is horizontal; -1 and 1 are the centres of the corner pixels. Outside the image are
    zeros.
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, use_cudnn=USE_CUDNN)
        argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerSampler().apply((x, grid))[0]
