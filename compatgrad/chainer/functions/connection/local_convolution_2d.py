"""Convolution with a filter of its own at every place."""

from compatgrad.chainer.functions import _composed, _spatial
from compatgrad.chainer.functions.array.cast import in_first_dtype
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.stack import stack
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import type_check

_pair = _spatial.pair  # programs find it here


class LocalConvolution2DFunction(_composed.ComposedFunction):
    def __init__(self, stride=1):
        super().__init__()
        self.sy, self.sx = _spatial.pair(stride)

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check.expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 4, w.ndim == 6, x.shape[1] == w.shape[3])
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check.expect(b.dtype == x.dtype, b.ndim == 3, b.shape == w.shape[:3])

    def compose(self, x, W, b=None):
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


def local_convolution_2d(x, W, b=None, stride=1):
    """Convolution of x (N, C, H, W) whose filter differs from place to place.

    W is (out, out_h, out_w, C, kh, kw), b (out, out_h, out_w), `stride` an int or a pair. Raises InvalidType
    where shapes or dtypes do not fit.
    """
    return LocalConvolution2DFunction(stride).apply((x, W) if b is None else (x, W, b))[0]
