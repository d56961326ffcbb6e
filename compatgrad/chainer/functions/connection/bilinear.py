"""Bilinear product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import size_of_shape, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class BilinearFunction(_composed.ComposedFunction):
    documented = "bilinear"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        n_in = type_check.eval(in_types.size())
        if n_in not in (3, 6):
            raise type_check.InvalidType("in_types.size() == 3 or in_types.size() == 6", f"size: {n_in}")
        e1, e2, W = in_types[:3]
        size = type_check.make_variable(size_of_shape, "size")
        for t in in_types:
            type_check.expect(t.dtype == "float32")
        type_check.expect(
            e1.ndim >= 2,
            e2.ndim >= 2,
            e1.shape[0] == e2.shape[0],
            W.ndim == 3,
            size(e1.shape[1:]) == W.shape[0],
            size(e2.shape[1:]) == W.shape[1],
        )
        if n_in == 6:
            for i, V in enumerate(in_types[3:5]):
                type_check.expect(V.ndim == 2, V.shape[0] == W.shape[i], V.shape[1] == W.shape[2])
            type_check.expect(in_types[5].ndim == 1, in_types[5].shape[0] == W.shape[2])

    def compose(
        self,
        e1: Variable,
        e2: Variable,
        W: Variable,
        V1: Variable | None = None,
        V2: Variable | None = None,
        b: Variable | None = None,
    ) -> Variable:
        batch, (j, k, out) = len(e1), W.shape
        e1, e2 = reshape(e1, (batch, j)), reshape(e2, (batch, k))
        # The sum over the elements of e1 comes first: an array of all products of two elements would take the most
        # memory.
        e1_W = reshape(matmul(e1, reshape(W, (j, k * out))), (batch, k, out))
        y = reshape(matmul(reshape(e2, (batch, 1, k)), e1_W), (batch, out))
        return y if V1 is None else y + matmul(e1, V1) + matmul(e2, V2) + b


def bilinear(
    e1: VariableOrArray,
    e2: VariableOrArray,
    W: VariableOrArray,
    V1: VariableOrArray | None = None,
    V2: VariableOrArray | None = None,
    b: VariableOrArray | None = None,
) -> Variable:
    """`y[i, l] = sum over j, k of e1[i, j] e2[i, k] W[j, k, l]`, plus `e1 V1 + e2 V2 + b` where these are given.

    Args:
        e1: float32, (n, ...), of J elements in each of n rows.
        e2: float32, (n, ...), of K elements in each row.
        W: float32, (J, K, L).
        V1: float32, (J, L), or None, as V2 and b then.
        V2: float32, (K, L).
        b: float32, (L,).

    Returns:
        Variable (n, L).

    Raises:
        ValueError: only some of V1, V2 and b are given.
        chainer.utils.type_check.InvalidType: an array is not float32, or shapes do not fit.

    Example:
        >>> e1, e2 = np.array([[1, 2]], np.float32), np.array([[3, 4]], np.float32)
        >>> F.bilinear(e1, e2, np.ones((2, 2, 1), np.float32)).array
        array([[21.]], dtype=float32)

    Source: `chainer.functions.bilinear` of Chainer 7.8.1.
    """
    linear = (V1, V2, b)
    if all([v is None for v in linear]):
        return BilinearFunction().apply((e1, e2, W))[0]
    if any([v is None for v in linear]):
        raise ValueError("All coefficients and bias for bilinear() must be None, if at least one of them is None.")
    return BilinearFunction().apply((e1, e2, W, *linear))[0]
