"""Group normalization (Wu and He 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.sqrt import rsqrt
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class GroupNormalization(_native.NativeFunction):
    op = "group_normalization"

    def __init__(self, groups: int, eps: float = 1e-5) -> None:
        if not isinstance(groups, int):
            raise TypeError(f"Argument: 'groups' type must be (int). Actual: {type(groups).__name__}")
        super().__init__(groups=groups, eps=eps)

    groups = _native.parameter("groups")
    eps = _native.parameter("eps")

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 3)
        x, gamma, beta = in_types
        type_check.expect(
            x.dtype.kind == "f", x.ndim >= 2, gamma.ndim == 1, beta.ndim == 1, gamma.dtype.kind == "f",
            gamma.dtype == beta.dtype, x.shape[1] == gamma.shape[0], gamma.shape == beta.shape,
        )  # fmt: skip

    def _run_bound(self, inputs):
        channels = inputs[0].shape[1]
        if channels % self.groups != 0:
            raise ValueError(f"The number of channels {channels} is not divisible by 'groups' argument {self.groups}.")
        return super()._run_bound(inputs)


class _MulInvStd(_composed.ComposedFunction):
    """A function of `(x, y)`: the rows of `y` divided by the standard deviations of the rows of `x`. It computes the
    reciprocal of the standard deviation again, so that gradients reach `x`.
    """

    def __init__(self, eps, mean, inv_std, dummy_gamma):
        super().__init__()
        self.eps, self.mean, self.inv_std, self.dummy_gamma = eps, mean, inv_std, dummy_gamma

    def compose(self, x, y):
        d = x - average(x, axis=1, keepdims=True)
        return y * rsqrt(average(d * d, axis=1, keepdims=True) + self.eps)


_group_normalization = frontend.bind(
    "group_normalization",
    lambda x, gamma, beta, groups, eps: GroupNormalization(groups, eps).apply((x, gamma, beta))[0],
)


def group_normalization(
    x: VariableOrArray, groups: int, gamma: VariableOrArray, beta: VariableOrArray, eps: float = 1e-5
) -> Variable:
    """Zero mean and unit variance within each group of channels of each sample, then scale and shift of each channel.

    Args:
        x: floating, (n, c, ...): n samples of c channels.
        groups: the number of groups of channels.
        gamma: floating, (c,): scale.
        beta: of the dtype of `gamma`, (c,): shift.
        eps: added to the variance.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        TypeError: `groups` is no int.
        ValueError: `groups` does not divide c.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.group_normalization(np.array([[0.0, 2.0, 5.0, 6.0]]), 2, np.ones(4), np.zeros(4), eps=0).array
        array([[-1.,  1., -1.,  1.]])

    Source: `chainer.functions.group_normalization` of Chainer 7.8.1; Wu and He 2018.
    """
    if type(groups) is not int or x.ndim < 2 or x.shape[1] % groups != 0:
        return GroupNormalization(groups, eps).apply((x, gamma, beta))[0]
    return _group_normalization(x, gamma, beta, groups, eps)
