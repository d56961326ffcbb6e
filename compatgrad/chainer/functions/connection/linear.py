"""Fully connected layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import utils
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.array.cast import cast, in_first_dtype
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import DType, VariableOrArray
    from compatgrad.chainer.variable import Variable


class LinearFunction(_native.NativeFunction):
    op = "linear"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
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
    """The gradient of `linear` with respect to its input, as a function of the weight and of `gy`, the gradient of the
    output.

    Example:
        >>> node = F.connection.linear.LinearGradData()
        >>> node.apply((np.array([[1.0, 2.0]]), np.array([[3.0]])))[0].array
        array([[3., 6.]])

    Source: `chainer.functions.connection.linear.LinearGradData` of Chainer 7.8.1.
    """

    def compose(self, W: Variable, gy: Variable) -> Variable:
        """gy W, of the dtype of `gy`: `W` (out, in), `gy` (n, out)."""
        return cast(matmul(gy, cast(W, gy.dtype)), gy.dtype)


class LinearGradWeight(_composed.ComposedFunction):
    """The gradient of `linear` with respect to its weight, as a function of the input and of `gy`, the gradient of the
    output.

    Args:
        w_dtype: dtype of the gradient.

    Example:
        >>> node = F.connection.linear.LinearGradWeight(np.float32)
        >>> node.apply((np.array([[1.0, 2.0]]), np.array([[3.0]])))[0].array
        array([[3., 6.]], dtype=float32)

    Source: `chainer.functions.connection.linear.LinearGradWeight` of Chainer 7.8.1.
    """

    def __init__(self, w_dtype: DType) -> None:
        super().__init__()
        self._w_dtype = w_dtype

    def compose(self, x: Variable, gy: Variable) -> Variable:
        """gy^T x: `x` (n, in), `gy` (n, out)."""
        return cast(matmul(gy, cast(x, gy.dtype), transa=True), self._w_dtype)


def _checked(x, W, b=None):
    return _native.applied(LinearFunction(), x, W, b)


_linear = frontend.bind("linear", _checked)


def linear(x: VariableOrArray, W: VariableOrArray, b: VariableOrArray | None = None, n_batch_axes: int = 1) -> Variable:
    """`x W^T + b`.

    Args:
        x: floating, (n, ...): n samples; all axes from `n_batch_axes` on are flattened.
        W: floating, (out, in).
        b: of the dtype of `x`, (out,); None for none.
        n_batch_axes: number of leading axes of `x` that the result keeps.

    Returns:
        Variable of the dtype of `x`: the first axes of `x`, then out.

    Raises:
        chainer.utils.type_check.InvalidType: `x` or `W` is not floating-point, or shapes or dtypes do not fit.
        ValueError: `n_batch_axes` is not positive.

    Example:
        >>> F.linear(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.5])).array
        array([[1.5, 3.5]])

    Source: `chainer.functions.linear` of Chainer 7.8.1.
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
