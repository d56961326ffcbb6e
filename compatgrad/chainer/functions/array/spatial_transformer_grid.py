"""Grids of sampling points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

USE_CUDNN = (
    'The argument "use_cudnn" is not supported anymore. '
    "Use chainer.using_config('use_cudnn', value) context where value can be `always`, `never`, or `auto`."
)


class SpatialTransformerGrid(_native.NativeFunction):
    documented = "spatial_transformer_grid"

    def __init__(self, output_shape: Sequence[int]) -> None:
        super().__init__()
        self.output_shape = output_shape

    @type_check._expects
    def check_type_forward(self, theta):
        return theta.dtype.kind == "f", theta.ndim == 3, theta.shape[1] == 2, theta.shape[2] == 3

    def _run_bound(self, inputs):
        (theta,) = inputs
        h, w = self.output_shape
        xp = backend.get_array_module(theta)
        points = xp.ones((3, h, w), dtype=theta.dtype)
        points[0] = xp.linspace(-1, 1, w)
        points[1] = xp.linspace(-1, 1, h)[:, None]
        return _bound.reshape._apply_as(self, _bound.matmul(theta, points.reshape(3, h * w)), (len(theta), 2, h, w))


def spatial_transformer_grid(theta: VariableOrArray, output_shape: Sequence[int], **kwargs: Any) -> Variable:
    """The points at which to sample images in order to warp them by affine maps.

    Args:
        theta: floating, (n, 2, 3): for each image, the matrix that takes (x, y, 1) of the result to (x, y) of the
            image.
        output_shape: height and width of the result.
        **kwargs: none; `use_cudnn`, an argument of earlier Chainer versions, raises an error.

    Returns:
        Variable (n, 2, *output_shape) of the dtype of `theta`: x and y of points; the image's corners are at -1 and 1.

    Raises:
        ValueError: `use_cudnn` is given.
        TypeError: another keyword is given.
        chainer.utils.type_check.InvalidType: `theta` is not floating-point or has another shape.

    Example:
        >>> identity = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> F.spatial_transformer_grid(identity, (2, 2)).array
        array([[[[-1.,  1.],
                 [-1.,  1.]],
        <BLANKLINE>
                [[-1., -1.],
                 [ 1.,  1.]]]])

    Source: `chainer.functions.spatial_transformer_grid` of Chainer 7.8.1; Jaderberg et al. 2015.
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, use_cudnn=USE_CUDNN)
        argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerGrid(output_shape).apply((theta,))[0]
