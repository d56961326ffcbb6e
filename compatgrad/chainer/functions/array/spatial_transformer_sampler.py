"""Images sampled at points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.spatial_transformer_grid import USE_CUDNN
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class SpatialTransformerSampler(_native.NativeFunction):
    documented = "spatial_transformer_sampler"
    op = "sample_grid"

    def __init__(self) -> None:
        super().__init__(axis=1, rim=True, nan=True)

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 2)
        x, grid = in_types
        type_check.expect(
            x.dtype.kind == "f", grid.dtype == x.dtype, x.ndim == 4, grid.ndim == 4, grid.shape[1] == 2,
            x.shape[0] == grid.shape[0],
        )  # fmt: skip


def spatial_transformer_sampler(x: VariableOrArray, grid: VariableOrArray, **kwargs: Any) -> Variable:
    """Images sampled at points, by bilinear interpolation.

    Args:
        x: floating, (n, c, h, w), n images of c channels; zeros outside.
        grid: of the dtype of `x`, (n, 2, out_h, out_w): x and y of points; the centres of the corner pixels are at -1
            and 1.
        **kwargs: none; `use_cudnn` of earlier versions is refused.

    Returns:
        Variable (n, c, out_h, out_w) of the dtype of `x`.

    Raises:
        ValueError: `use_cudnn` is given.
        TypeError: another keyword is given.
        chainer.utils.type_check.InvalidType: `x` is not floating-point, dtypes differ, or shapes do not fit.

    Example:
        >>> grid = np.zeros((1, 2, 1, 1))  # the centre
        >>> F.spatial_transformer_sampler(np.array([[[[1.0, 2.0]]]]), grid).array
        array([[[[1.5]]]])

    Source: `chainer.functions.spatial_transformer_sampler` of Chainer 7.8.1; Jaderberg et al. 2015.
    """
    if kwargs:
        argument.check_unexpected_kwargs(kwargs, use_cudnn=USE_CUDNN)
        argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerSampler().apply((x, grid))[0]
