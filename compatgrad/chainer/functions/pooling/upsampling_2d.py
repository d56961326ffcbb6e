"""Upsampling: each element is written to one position of its window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions.pooling import unpooling_2d
from compatgrad.chainer.utils import conv, type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class Upsampling2D(unpooling_2d._Unpooling2D):
    documented = "upsampling_2d"
    op = "max_pooling_grad"
    _outsize = "insize"
    cover_all = True

    def __init__(
        self,
        indexes: NdArray,
        ksize: IntOrInts,
        stride: IntOrInts | None = None,
        pad: IntOrInts = 0,
        outsize: Sequence[int] | None = None,
        cover_all: bool = True,
    ) -> None:
        super().__init__(ksize, stride, pad, insize=outsize)
        self.indexes = indexes
        self.cover_all = cover_all

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        super().check_type_forward(in_types)
        type_check.expect(in_types[0].shape == self.indexes.shape)

    def _run_bound(self, inputs):
        p = dict(self.op_params)
        if p["insize"] is None:
            sizes = zip(inputs[0].shape[2:], p["ksize"], p["stride"], p["pad"], strict=True)
            p["insize"] = [conv.get_deconv_outsize(n, k, s, w, self.cover_all) for n, k, s, w in sizes]
        volume = self.kh * self.kw
        if not ((self.indexes >= -volume) & (self.indexes < volume)).all():
            raise IndexError(f"upsampling_2d: an index is out of range for a window of {volume}")
        return self._bound._apply_as(self, inputs[0], self.indexes % volume, **p)


def upsampling_2d(
    x: VariableOrArray,
    indexes: NdArray,
    ksize: IntOrInts,
    stride: IntOrInts | None = None,
    pad: IntOrInts = 0,
    outsize: Sequence[int] | None = None,
    cover_all: bool = True,
) -> Variable:
    """Writes each element to one position of its window and adds where windows overlap.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        indexes: integer array of the shape of `x`: the position in each window, counted row by row, as
            `max_pooling_2d` gives with `return_indices`.
        ksize: height and width of the window, or one number for both.
        stride: step of the window along each axis, or one number for both; None: `ksize`.
        pad: how far each side of the image is padded, for each axis or one number for both.
        outsize: height and width of the result; None: those that `cover_all` tells.
        cover_all: whether the pooling that this one undoes let its last window reach beyond the padding.

    Returns:
        Variable of the dtype of `x`, (n, c, out_h, out_w).

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point or not of four axes, or `indexes` has another
            shape.
        IndexError: a position is outside the window.

    Example:
        >>> y, places = F.max_pooling_2d(np.array([[[[1.0, 5.0], [2.0, 3.0]]]]), 2, return_indices=True)
        >>> F.upsampling_2d(y, places, 2, cover_all=False).array
        array([[[[0., 5.],
                 [0., 0.]]]])

    Source: `chainer.functions.upsampling_2d` of Chainer 7.8.1.
    """
    return Upsampling2D(indexes, ksize, stride, pad, outsize, cover_all).apply((x,))[0]
