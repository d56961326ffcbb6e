"""Average pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.pooling import pooling_nd

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class AveragePoolingND(pooling_nd._PoolingND):
    """The node of `chainer.functions.average_pooling_nd` in the graph, its result's `creator`.

    Args:
        ndim: number of axes over which the windows extend.
        ksize: lengths of the window along the last axes, or one number for all.
        stride: step of the window along each of these axes, or one number for all; None: `ksize`.
        pad: how far both ends of these axes are padded, for each or one number for all.
        cover_all: False; windows beyond the padding are not supported.
        pad_value: 0 counts padded elements as zeros, None leaves them out of the mean.

    Raises:
        ValueError: `ndim` is not positive, `pad_value` is neither 0 nor None, or `cover_all` is True.

    Example:
        >>> F.pooling.average_pooling_nd.AveragePoolingND(1, 2).apply((np.array([[[1.0, 3.0]]]),))[0].array
        array([[[2.]]])

    Source: `chainer.functions.pooling.average_pooling_nd.AveragePoolingND` of Chainer 7.8.1.
    """

    op = "average_pooling"
    cover_all = False

    def __init__(
        self,
        ndim: int,
        ksize: IntOrInts,
        stride: IntOrInts | None = None,
        pad: IntOrInts = 0,
        cover_all: bool = False,
        pad_value: int | None = 0,
    ) -> None:
        if not (pad_value is None or pad_value == 0):
            raise ValueError(f"pad_value must be either 0 or None, not {pad_value}.")
        if cover_all:
            raise ValueError("`cover_all` mode is not supported yet.")
        super().__init__(ndim, ksize, stride, pad, pad_value=pad_value)

    pad_value = _native.parameter("pad_value")


def _checked(x, ksize, stride, pad, pad_value):
    return AveragePoolingND(x.ndim - 2, ksize, stride, pad, pad_value=pad_value).apply((x,))[0]


_average_pooling = frontend.bind("average_pooling", _checked)


def average_pooling_nd(
    x: VariableOrArray, ksize: IntOrInts, stride: IntOrInts | None = None, pad: IntOrInts = 0, pad_value: int | None = 0
) -> Variable:
    """Mean of each window over the axes after the first two.

    Args:
        x: floating, (n, c, d1, d2, ...): n samples of c channels.
        ksize: lengths of the window along the last axes, or one number for all.
        stride: step of the window along each of these axes, or one number for all; None: `ksize`.
        pad: how far both ends of these axes are padded, for each or one number for all.
        pad_value: 0 counts padded elements as zeros, None leaves them out of the mean.

    Returns:
        Variable of the dtype of `x`; each of these axes has (length + 2 pad - ksize) // stride + 1 elements.

    Raises:
        ValueError: `pad_value` is neither 0 nor None.
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or its images are empty.
        AssertionError: the result would be empty.

    Example:
        >>> F.average_pooling_nd(np.array([[[1.0, 3.0, 5.0]]]), 2, stride=1).array
        array([[[2., 4.]]])

    Source: `chainer.functions.average_pooling_nd` of Chainer 7.8.1.
    """
    if x.ndim == 4:  # with the op, `creator` would be an AveragePooling2D
        return _checked(x, ksize, stride, pad, pad_value)
    return _average_pooling(x, ksize, ksize if stride is None else stride, pad, pad_value)


average_pooling_1d = _spatial.over(
    average_pooling_nd,
    1,
    """
    >>> F.average_pooling_1d(np.array([[[1.0, 3.0, 5.0, 7.0]]]), 2).array
    array([[[2., 6.]]])
    """,
)


average_pooling_3d = _spatial.over(
    average_pooling_nd,
    3,
    """
    >>> F.average_pooling_3d(np.arange(8.0).reshape(1, 1, 2, 2, 2), 2).array
    array([[[[[3.5]]]]])
    """,
)
