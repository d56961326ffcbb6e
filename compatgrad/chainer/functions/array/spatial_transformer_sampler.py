"""Images sampled at points."""

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.spatial_transformer_grid import USE_CUDNN
from compatgrad.chainer.utils import argument, type_check


class SpatialTransformerSampler(_native.NativeFunction):
    op = "sample_grid"

    def __init__(self):
        super().__init__(axis=1, rim=True)

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        x, grid = in_types
        type_check.expect(
            x.dtype.kind == "f", grid.dtype == x.dtype, x.ndim == 4, grid.ndim == 4, grid.shape[1] == 2,
            x.shape[0] == grid.shape[0],
        )  # fmt: skip


def spatial_transformer_sampler(x, grid, **kwargs):
    """Images `x` (n, c, h, w) at the points `grid` (n, 2, out_h, out_w), by bilinear interpolation.

    The first coordinate is horizontal; -1 and 1 are the centres of the corner pixels. Outside the image are
    zeros.
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, use_cudnn=USE_CUDNN)
        argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerSampler().apply((x, grid))[0]
