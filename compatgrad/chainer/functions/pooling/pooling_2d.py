"""Base class of the pooling functions over two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts

_pair = _spatial.pair  # Chainer has this name here too, and programs import it


class Pooling2D(_spatial.Windows2D, _native.NativeFunction):
    """Base class of poolings and unpoolings of images: the windows, and the check of the input (n, c, h, w).

    Args:
        ksize: height and width of the window, or one number for both.
        stride: step of the window along each axis, or one number for both; None: `ksize`.
        pad: how far each side of the image is padded, for each axis or one number for both.
        **params: further parameters of the subclass's op.

    Example:
        >>> x = chainer.Variable(np.arange(4.0).reshape(1, 1, 2, 2))
        >>> node = F.average_pooling_2d(x, 2).creator
        >>> isinstance(node, F.pooling.pooling_2d.Pooling2D), node.kh, node.sx, node.ph
        (True, 2, 2, 0)

    Source: `chainer.functions.pooling.pooling_2d.Pooling2D` of Chainer 7.8.1.
    """

    def __init__(self, ksize: IntOrInts, stride: IntOrInts | None = None, pad: IntOrInts = 0, **params: Any) -> None:
        super().__init__(
            ksize=_spatial.pair(ksize),
            stride=_spatial.pair(ksize if stride is None else stride),
            pad=_spatial.pair(pad),
            **params,
        )

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == "f", in_types[0].ndim == 4)
