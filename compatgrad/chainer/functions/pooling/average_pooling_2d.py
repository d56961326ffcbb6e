"""Average pooling over two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _spatial
from compatgrad.chainer.functions.pooling import average_pooling_nd, pooling_2d

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class AveragePooling2D(pooling_2d.Pooling2D, show=False):
    """The node of `chainer.functions.average_pooling_2d` in the graph, its result's `creator`.

    Args:
        ksize: height and width of the window, or one number for both.
        stride: step of the window along each axis, or one number for both; None: `ksize`.
        pad: how far each side of the image is padded, for each axis or one number for both.
        cover_all: kept as an attribute only; windows never reach beyond the padding.

    Raises:
        chainer.utils.type_check.InvalidType: the input is not floating-point, or not of four axes.

    Example:
        >>> F.average_pooling_2d(np.arange(4.0).reshape(1, 1, 2, 2), 2).creator.label
        'AveragePooling2D'

    Source: `chainer.functions.pooling.average_pooling_2d.AveragePooling2D` of Chainer 7.8.1.
    """

    op = "average_pooling"

    def __init__(
        self, ksize: IntOrInts, stride: IntOrInts | None = None, pad: IntOrInts = 0, cover_all: bool = False
    ) -> None:
        super().__init__(ksize, stride, pad)
        self.cover_all = cover_all

    cover_all = False

    def _run_bound(self, inputs):
        p = self.op_params
        _spatial.outsize(inputs[0].shape[2:], p["ksize"], p["stride"], p["pad"])
        return super()._run_bound(inputs)


frontend.node_classes["average_pooling"] = _spatial.by_rank(
    "ksize", AveragePooling2D, average_pooling_nd.AveragePoolingND
)


def _checked(x, ksize, stride, pad):
    return AveragePooling2D(ksize, stride, pad).apply((x,))[0]


_average_pooling = frontend.bind("average_pooling", _checked)


def average_pooling_2d(
    x: VariableOrArray, ksize: IntOrInts, stride: IntOrInts | None = None, pad: IntOrInts = 0
) -> Variable:
    """Mean of each window; the padding counts as zeros.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        ksize: height and width of the window, or one number for both.
        stride: step of the window along each axis, or one number for both; None: `ksize`.
        pad: how far each side of the image is padded, for each axis or one number for both.

    Returns:
        Variable of the dtype of `x`, (n, c, out_h, out_w) with out_h = (h + 2 pad - ksize) // stride + 1.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or not of four axes.
        AssertionError: a window is larger than the padded image.

    Example:
        >>> F.average_pooling_2d(np.arange(16.0).reshape(1, 1, 4, 4), 2).array
        array([[[[ 2.5,  4.5],
                 [10.5, 12.5]]]])

    Source: `chainer.functions.average_pooling_2d` of Chainer 7.8.1.
    """
    if x.ndim != 4:
        return _checked(x, ksize, stride, pad)
    ksize = _spatial.pair(ksize)  # two sizes select AveragePooling2D for `creator`
    return _average_pooling(x, ksize, ksize if stride is None else stride, pad)
