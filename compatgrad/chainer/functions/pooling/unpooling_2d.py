"""Unpooling over two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.pooling import pooling_2d, unpooling_nd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable


class _Unpooling2D(pooling_2d.Pooling2D):
    _outsize = "outsize"

    outh = property(
        lambda self: (self.op_params[self._outsize] or (None,))[0],
        doc="Height of the result in the call; None: the default.",
    )
    outw = property(
        lambda self: (self.op_params[self._outsize] or (None,))[-1],
        doc="Width of the result in the call; None: the default.",
    )

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        if self.outh is not None:
            p = self.op_params
            unpooling_nd._expect_pooled_size(
                in_types[0], p["ksize"], p["stride"], p["pad"], p[self._outsize], self.cover_all
            )


class Unpooling2D(_Unpooling2D, show=False):
    documented = "unpooling_2d"
    op = "unpooling"

    def __init__(
        self,
        ksize: IntOrInts,
        stride: IntOrInts | None = None,
        pad: IntOrInts = 0,
        outsize: Sequence[int] | None = None,
        cover_all: bool = True,
    ) -> None:
        super().__init__(ksize, stride, pad, outsize=outsize, cover_all=cover_all)

    cover_all = _native.parameter("cover_all")


frontend.node_classes["unpooling"] = _spatial.by_rank("ksize", Unpooling2D, unpooling_nd.UnpoolingND)


def _checked(x, ksize, stride, pad, outsize, cover_all):
    return Unpooling2D(ksize, stride, pad, outsize, cover_all).apply((x,))[0]


_unpooling = frontend.bind("unpooling", _checked)


def unpooling_2d(
    x: VariableOrArray,
    ksize: IntOrInts,
    stride: IntOrInts | None = None,
    pad: IntOrInts = 0,
    outsize: Sequence[int] | None = None,
    cover_all: bool = True,
) -> Variable:
    """Writes each element to all positions of its window and adds where windows overlap.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        ksize: height and width of the window, or one number for both.
        stride: step of the window along each axis, or one number for both; None: `ksize`.
        pad: how far each side of the image is padded, for each axis or one number for both.
        outsize: height and width of the result; None: the smallest or largest size that `cover_all` allows.
        cover_all: whether the pooling that this function reverses let its last window reach beyond the padding.

    Returns:
        Variable of the dtype of `x`, (n, c, out_h, out_w).

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point or not of four axes, or pooling an array of
            `outsize` does not give the size of `x`.

    Example:
        >>> F.unpooling_2d(np.array([[[[1.0, 3.0]]]]), 2, cover_all=False).array
        array([[[[1., 1., 3., 3.],
                 [1., 1., 3., 3.]]]])

    Source: `chainer.functions.unpooling_2d` of Chainer 7.8.1.
    """
    if outsize is not None or x.ndim != 4:
        return _checked(x, ksize, stride, pad, outsize, cover_all)
    ksize = _spatial.pair(ksize)  # two sizes select Unpooling2D for `creator`
    return _unpooling(x, ksize, ksize if stride is None else stride, pad, None, cover_all)
