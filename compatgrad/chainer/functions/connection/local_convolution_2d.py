"""Locally connected layer: a convolution with a different filter at each position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed, _native, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_pair = _spatial.pair  # Chainer has this name here too, and programs import it


class LocalConvolution2DFunction(_composed.ComposedFunction):
    documented = "local_convolution_2d"

    def __init__(self, stride: IntOrInts = 1) -> None:
        super().__init__()
        self.sy, self.sx = _spatial.pair(stride)

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check.expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 4, w.ndim == 6, x.shape[1] == w.shape[3])
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check.expect(b.dtype == x.dtype, b.ndim == 3, b.shape == w.shape[:3])

    def compose(self, x: Variable, W: Variable, b: Variable | None = None) -> Variable:
        x, W = in_first_dtype((x, W))
        out, rows, columns, channels, kh, kw = W.shape
        patches = [
            x[:, :, i * self.sy : i * self.sy + kh, j * self.sx : j * self.sx + kw]
            for i in range(rows)
            for j in range(columns)
        ]
        x = reshape(stack(patches), (rows * columns, len(x), channels * kh * kw))
        W = reshape(transpose(W, (1, 2, 3, 4, 5, 0)), (rows * columns, channels * kh * kw, out))
        y = transpose(matmul(x, W), (1, 2, 0))
        y = reshape(y, (*y.shape[:2], rows, columns))
        return y if b is None else y + b


def local_convolution_2d(
    x: VariableOrArray, W: VariableOrArray, b: VariableOrArray | None = None, stride: IntOrInts = 1
) -> Variable:
    """Convolution with a different filter at each position of the result.

    Args:
        x: floating, (n, c, h, w): n images of c channels.
        W: floating, (out, out_h, out_w, c, kh, kw): a filter for each channel and position of the result.
        b: of the dtype of `x`, (out, out_h, out_w); None for none.
        stride: step of the filter along each axis, or one number for both.

    Returns:
        Variable of the dtype of `x`, (n, out, out_h, out_w).

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> W = np.array([1.0, 10.0]).reshape(1, 1, 2, 1, 1, 1)  # two places, each with its own filter of one element
        >>> F.local_convolution_2d(np.array([[[[2.0, 3.0]]]]), W).array
        array([[[[ 2., 30.]]]])

    Source: `chainer.functions.local_convolution_2d` of Chainer 7.8.1.
    """
    return _native.applied(LocalConvolution2DFunction(stride), x, W, b)
