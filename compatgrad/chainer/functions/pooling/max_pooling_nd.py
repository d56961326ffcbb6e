"""Max pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.pooling import pooling_nd

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class MaxPoolingND(pooling_nd._PoolingND):
    """The node of `chainer.functions.max_pooling_nd` in the graph, its result's `creator`.

    Args:
        ndim: number of axes over which the windows extend.
        ksize: lengths of the window along the last axes, or one number for all.
        stride: step of the window along each of these axes, or one number for all; None: `ksize`.
        pad: how far both ends of these axes are padded, for each or one number for all.
        cover_all: True lets the last window reach beyond the padding, so that no element is left out.
        return_indices: True keeps the positions of the maxima in the attribute `indexes`.

    Raises:
        ValueError: `ndim` is not positive.

    Example:
        >>> node = F.pooling.max_pooling_nd.MaxPoolingND(1, 2, return_indices=True)
        >>> node.apply((np.array([[[1.0, 3.0]]]),))[0].array, node.indexes
        (array([[[3.]]]), array([[[1]]]))

    Source: `chainer.functions.pooling.max_pooling_nd.MaxPoolingND` of Chainer 7.8.1.
    """

    op = "max_pooling"
    indexes = None  # positions of the maxima in their windows, after `apply` with `return_indices`

    def __init__(
        self,
        ndim: int,
        ksize: IntOrInts,
        stride: IntOrInts | None = None,
        pad: IntOrInts = 0,
        cover_all: bool = True,
        return_indices: bool = False,
    ) -> None:
        super().__init__(ndim, ksize, stride, pad, cover_all=cover_all, return_indices=return_indices)

    cover_all = _native.parameter("cover_all")
    return_indices = _native.parameter("return_indices")

    def _run_bound(self, inputs):
        if not self.return_indices:
            return super()._run_bound(inputs)
        if self.ndim > 3:
            raise NotImplementedError("max_pooling_nd: return_indices is not supported over more than three axes")
        y, indexes = super()._run_bound(inputs)
        self.indexes = indexes.array
        return y


def _checked(x, ksize, stride, pad, cover_all, return_indices=False):
    function = MaxPoolingND(x.ndim - 2, ksize, stride, pad, cover_all, return_indices)
    return function.apply((x,))[0]


_max_pooling = frontend.bind("max_pooling", _checked)


def max_pooling_nd(
    x: VariableOrArray,
    ksize: IntOrInts,
    stride: IntOrInts | None = None,
    pad: IntOrInts = 0,
    cover_all: bool = True,
    return_indices: bool = False,
) -> Variable | tuple[Variable, NdArray]:
    """Maximum of each window over the axes after the first two.

    Args:
        x: floating, (n, c, d1, d2, ...): n samples of c channels.
        ksize: lengths of the window along the last axes, or one number for all.
        stride: step of the window along each of these axes, or one number for all; None: `ksize`.
        pad: how far both ends of these axes are padded, for each or one number for all.
        cover_all: True lets the last window reach beyond the padding, so that no element is left out.
        return_indices: True also returns an array with each maximum's position in its window, counted row by row.

    Returns:
        Variable of the dtype of `x`, of as many axes; with `return_indices` a pair of it and an integer array of its
        shape.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or its images are empty.
        AssertionError: the result would be empty.
        ValueError: `x` has no third axis.
        NotImplementedError: `return_indices` over more than three axes.

    Example:
        >>> F.max_pooling_nd(np.array([[[1.0, 3.0, 5.0]]]), 2).array  # the last window holds 5 alone
        array([[[3., 5.]]])

    Source: `chainer.functions.max_pooling_nd` of Chainer 7.8.1.
    """
    if return_indices:
        function = MaxPoolingND(x.ndim - 2, ksize, stride, pad, cover_all, True)
        return function.apply((x,))[0], function.indexes
    return _max_pooling(x, ksize, ksize if stride is None else stride, pad, cover_all)


max_pooling_1d = _spatial.over(
    max_pooling_nd,
    1,
    """
    >>> F.max_pooling_1d(np.array([[[1.0, 3.0, 7.0, 5.0]]]), 2, return_indices=True)
    (variable([[[3., 7.]]]), array([[[1, 0]]]))
    """,
)


@_spatial.documented_over(
    max_pooling_nd,
    2,
    """
    >>> F.max_pooling_2d(np.arange(9.0).reshape(1, 1, 3, 3), 2, stride=1, cover_all=False).array
    array([[[[4., 5.],
             [7., 8.]]]])
    """,
)
def max_pooling_2d(
    x: VariableOrArray,
    ksize: IntOrInts,
    stride: IntOrInts | None = None,
    pad: IntOrInts = 0,
    cover_all: bool = True,
    return_indices: bool = False,
) -> Variable | tuple[Variable, NdArray]:
    if return_indices or x.ndim != 4:
        _spatial.check_ndim(x, 2)
        return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)
    return _max_pooling(x, ksize, ksize if stride is None else stride, pad, cover_all)


max_pooling_3d = _spatial.over(
    max_pooling_nd,
    3,
    """
    >>> F.max_pooling_3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), 2).array
    array([[[[[7.]]]]])
    """,
)
