"""Grids of sampling points."""

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument, type_check

USE_CUDNN = (
    'The argument "use_cudnn" is not supported anymore. '
    "Use chainer.using_config('use_cudnn', value) context where value can be `always`, `never`, or `auto`."
)

_matmul = frontend.bind("matmul", dtype="any")
_reshape = frontend.bind("reshape", dtype="any")


class SpatialTransformerGrid(_native.NativeFunction):
    op = None

    def __init__(self, output_shape):
        super().__init__()
        self.output_shape = output_shape

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("theta",))
        theta = in_types[0]
        type_check.expect(theta.dtype.kind == "f", theta.ndim == 3, theta.shape[1] == 2, theta.shape[2] == 3)

    def _run_bound(self, inputs):
        (theta,) = inputs
        h, w = self.output_shape
        xp = backend.get_array_module(theta)
        points = xp.ones((3, h, w), dtype=theta.dtype)
        points[0] = xp.linspace(-1, 1, w)
        points[1] = xp.linspace(-1, 1, h)[:, None]
        return _reshape._apply_as(self, _matmul(theta, points.reshape(3, h * w)), (len(theta), 2, h, w))


def spatial_transformer_grid(theta, output_shape, **kwargs):
    """Where to sample an image that the affine maps `theta` (n, 2, 3) warp (Jaderberg et al. 2015).

    Gives points (n, 2, h, w), x before y, for an image of size `output_shape` (h, w); its corners are at -1
    and 1.
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, use_cudnn=USE_CUDNN)
        argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerGrid(output_shape).apply((theta,))[0]
