"""Group normalisation (Wu and He 2018)."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed, _native
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.sqrt import rsqrt
from compatgrad.chainer.utils import type_check


class GroupNormalization(_native.NativeFunction):
    op = "group_normalization"

    def __init__(self, groups, eps=1e-5):
        if not isinstance(groups, int):
            raise TypeError(f"Argument: 'groups' type must be (int). Actual: {type(groups).__name__}")
        super().__init__(groups=groups, eps=eps)

    groups = property(lambda self: self.op_params["groups"])
    eps = property(lambda self: self.op_params["eps"])

    def check_type_forward(self, in_types):
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
    """Of `(x, y)`: the rows of `y` divided by the standard deviations of those of `x`.

    `inv_std`, what they are multiplied by, is computed again for the derivatives by `x`.
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


def group_normalization(x, groups, gamma, beta, eps=1e-5):
    """Normalises each of `groups` groups of channels of `x` (N, C, …), then scales and shifts the channels.

    Raises ValueError where `groups` does not divide C, TypeError where it is no int.
    """
    if type(groups) is not int or x.ndim < 2 or x.shape[1] % groups != 0:
        return GroupNormalization(groups, eps).apply((x, gamma, beta))[0]
    return _group_normalization(x, gamma, beta, groups, eps)
