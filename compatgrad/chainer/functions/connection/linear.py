"""Fully connected layer."""

from compatgrad.chainer import utils
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.array.cast import cast, in_first_dtype
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import type_check


class LinearFunction(_native.NativeFunction):
    op = "linear"

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check._argname((x, w), ("x", "W"))
        type_check.expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 2, w.ndim == 2, x.shape[1] == w.shape[1])
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check._argname((b,), ("b",))
            type_check.expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])

    def _run_bound(self, inputs):
        return super()._run_bound(in_first_dtype(inputs))


class LinearGradData(_composed.ComposedFunction):
    """Of `(W, gy)`: the gradient of `linear` by its input."""

    def compose(self, W, gy):
        return cast(matmul(gy, cast(W, gy.dtype)), gy.dtype)


class LinearGradWeight(_composed.ComposedFunction):
    """Of `(x, gy)`: the gradient of `linear` by its weight, in the dtype `w_dtype`."""

    def __init__(self, w_dtype):
        super().__init__()
        self._w_dtype = w_dtype

    def compose(self, x, gy):
        return cast(matmul(gy, cast(x, gy.dtype), transa=True), self._w_dtype)


def _checked(x, W, b=None):
    return LinearFunction().apply((x, W) if b is None else (x, W, b))[0]


_linear = frontend.bind("linear", _checked)


def linear(x, W, b=None, n_batch_axes=1):
    """`x W^T + b` for x (batch, …), W (out, in), b (out,): axes of x from `n_batch_axes` on are flattened.

    Raises InvalidType where shapes or dtypes do not fit, ValueError where `n_batch_axes` is not positive.
    """
    if n_batch_axes == 1:
        if x.ndim > 2:
            x = x.reshape(x.shape[0], -1)
        return _linear(x, W, b) if x.ndim == 2 else _checked(x, W, b)
    if n_batch_axes <= 0:
        raise ValueError(f"n_batch_axes should be greater than 0. Actual: {n_batch_axes}")
    batch = x.shape[:n_batch_axes]
    y = _linear(x.reshape(utils.size_of_shape(batch), -1), W, b)
    return y.reshape(batch + (-1,))
