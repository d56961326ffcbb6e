"""Layer normalization (Ba et al. 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class LayerNormalization(_native.NativeFunction):
    op = "layer_normalization"

    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__(eps=eps)

    eps = _native.parameter("eps")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 3)
        x, gamma, beta = in_types
        type_check.expect(
            x.dtype.kind == "f", x.ndim == 2, gamma.ndim == 1, beta.ndim == 1, gamma.dtype == x.dtype,
            beta.dtype == x.dtype, gamma.shape == beta.shape,
        )  # fmt: skip


def _checked(x, gamma, beta, eps=1e-5):
    return LayerNormalization(eps).apply((x, gamma, beta))[0]


_layer_normalization = frontend.bind("layer_normalization", _checked)


def layer_normalization(
    x: VariableOrArray, gamma: VariableOrArray, beta: VariableOrArray, eps: float = 1e-5
) -> Variable:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` over the units of each sample.

    Args:
        x: floating, (n, units).
        gamma: of the dtype of `x`, (units,): scale.
        beta: of the dtype of `x`, (units,): shift.
        eps: added to the variance.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not of two axes, or `gamma` and `beta` differ in shape or dtype.
        ValueError: they have another length than units.

    Example:
        >>> F.layer_normalization(np.array([[0.0, 2.0], [4.0, 3.0]]), np.ones(2), np.array([0.0, 10.0]), eps=0).array
        array([[-1., 11.],
               [ 1.,  9.]])

    Source: `chainer.functions.layer_normalization` of Chainer 7.8.1; Ba et al. 2016.
    """
    if x.ndim != 2:
        return _checked(x, gamma, beta, eps)
    return _layer_normalization(x, gamma, beta, eps)
