"""DropConnect: linear layers some of whose weights are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, variable
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.functions.array.cast import cast
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable

_matmul = _bound.matmul  # Chainer has this name here too, and programs import it


class SimplifiedDropconnect(_native.NativeFunction):
    documented = "simplified_dropconnect"

    def __init__(self, ratio: float, mask: VariableOrArray | None = None, use_batchwise_mask: bool = True) -> None:
        super().__init__()
        self.ratio = ratio
        self.mask = mask
        self.use_batchwise_mask = use_batchwise_mask

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check._argname((x, w), ("x", "W"))
        type_check.expect(
            x.dtype.kind == "f", w.dtype.kind == "f", x.ndim >= 2, w.ndim == 2,
            type_check.prod(x.shape[1:]) == w.shape[1],
        )  # fmt: skip
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check._argname((b,), ("b",))
            type_check.expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])
        if self.mask is not None:
            if self.use_batchwise_mask:
                type_check.expect(self.mask.shape[0] == x.shape[0], self.mask.shape[1:] == w.shape)
            else:
                type_check.expect(self.mask.shape == w.shape)

    def _run_bound(self, inputs):
        x, w = inputs[:2]
        if self.mask is None:
            shape = (len(x), *w.shape) if self.use_batchwise_mask else w.shape
            self.mask = backend.get_array_module(w).random.rand(*shape) >= self.ratio
        elif isinstance(self.mask, variable.Variable):
            self.mask = self.mask.array
        scaled = self.mask.astype(w.dtype) * w.dtype.type(1.0 / (1 - self.ratio))
        w = cast(_bound.mul(w, scaled), x.dtype)
        y = _bound.matmul(w, _bound.reshape(x, (len(x), -1, 1)))
        if len(inputs) == 2:
            return _bound.reshape._apply_as(self, y, y.shape[:2])
        return _bound.add._apply_as(self, _bound.reshape(y, y.shape[:2]), inputs[2])


def simplified_dropconnect(
    x: VariableOrArray,
    W: VariableOrArray,
    b: VariableOrArray | None = None,
    ratio: float = 0.5,
    train: bool = True,
    mask: VariableOrArray | None = None,
    use_batchwise_mask: bool = True,
) -> Variable:
    """`x W^T + b` with each weight set to 0 with probability `ratio` and the others scaled by 1 / (1 - ratio).

    Args:
        x: floating, (n, ...): n samples, whose axes after the first are flattened.
        W: floating, (out, in).
        b: of the dtype of `x`, (out,); None for none.
        ratio: in [0, 1).
        train: False keeps all weights.
        mask: (n, out, in) or (out, in), as `use_batchwise_mask` says: a bool for each weight, True where it remains;
            None draws the mask by `numpy.random.rand`, or CuPy's on a GPU.
        use_batchwise_mask: True: a mask for each sample, False: one for all.

    Returns:
        Variable of the dtype of `x`, (n, out).

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> mask = np.array([[True, False]])
        >>> x, W = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
        >>> F.simplified_dropconnect(x, W, mask=mask, use_batchwise_mask=False).array
        array([[6.]])

    Source: `chainer.functions.simplified_dropconnect` of Chainer 7.8.1; Wan et al. 2013.
    """
    return _native.applied(SimplifiedDropconnect(ratio if train else 0, mask, use_batchwise_mask), x, W, b)
