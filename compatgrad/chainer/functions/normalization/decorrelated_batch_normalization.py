"""Decorrelated batch normalisation: whitening of groups of channels (Huang et al. 2018)."""

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import argument, type_check

_inverse_root = frontend.bind("inverse_root", dtype="any")


def _grouped(x, groups):
    """(N, C, …) as (groups, C / groups, values of a channel)."""
    return reshape(transpose(x, (1, 0, *range(2, x.ndim))), (groups, x.shape[1] // groups, -1))


def _ungrouped(y, shape):
    return transpose(reshape(y, (shape[1], shape[0], *shape[2:])), (1, 0, *range(2, len(shape))))


class DecorrelatedBatchNormalization(_composed.ComposedFunction):
    def __init__(self, groups=16, eps=2e-5, mean=None, projection=None, decay=0.9):
        self.groups = groups
        self.eps = eps
        self.running_mean = mean
        self.running_projection = projection
        self.decay = decay

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        x = in_types[0]
        type_check.expect(x.dtype.kind == "f", x.shape[1] % self.groups == 0)
        type_check.expect(x.ndim >= 2)

    def forward(self, inputs):
        y = super().forward(inputs)
        m = inputs[0].size // inputs[0].shape[1]
        if self.running_mean is not None:
            self.running_mean *= self.decay
            self.running_mean += (1 - self.decay) * self._mean.array[:, :, 0]
        if self.running_projection is not None:
            self.running_projection *= self.decay
            self.running_projection += (1 - self.decay) * m / max(m - 1.0, 1.0) * self._projection.array
        del self._mean, self._projection
        return y

    def compose(self, x):
        x_hat = _grouped(x, self.groups)
        mean = average(x_hat, 2, keepdims=True)
        x_hat = x_hat - mean
        xp = backend.get_array_module(x.array)
        noise = x.dtype.type(self.eps) * xp.eye(x_hat.shape[1], dtype=x.dtype)
        covariance = matmul(x_hat, x_hat, transb=True) / x_hat.shape[2] + noise
        projection = _inverse_root(covariance)
        self._mean, self._projection = mean, projection
        return _ungrouped(matmul(projection, x_hat), x.shape)


class FixedDecorrelatedBatchNormalization(_composed.ComposedFunction):
    def __init__(self, groups):
        self.groups = groups

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x, mean, projection = in_types
        type_check.expect(x.dtype.kind == "f", mean.dtype == x.dtype, projection.dtype == x.dtype)
        type_check.expect(x.ndim >= 2)

    def compose(self, x, mean, projection):
        x_hat = _grouped(x, self.groups) - reshape(mean, (*mean.shape, 1))
        return _ungrouped(matmul(projection, x_hat), x.shape)


def decorrelated_batch_normalization(x, **kwargs):
    """`x` (N, C, …) with zero mean and unit covariance within each group of channels.

    Keywords: `groups` (16), `eps` (2e-5, added to the variances), `running_mean` (groups, C / groups) and
    `running_projection` (groups, C / groups, C / groups), updated in place with `decay` (0.9). Raises
    InvalidType where `groups` does not divide C.
    """
    params = argument.parse_kwargs(
        kwargs,
        ("groups", 16),
        ("eps", 2e-5),
        ("running_mean", None),
        ("running_projection", None),
        ("decay", 0.9),
    )
    return DecorrelatedBatchNormalization(*params).apply((x,))[0]


def fixed_decorrelated_batch_normalization(x, mean, projection, groups=16):
    """The same with the given mean (groups, C / groups) and projection (groups, C / groups, C / groups)."""
    return FixedDecorrelatedBatchNormalization(groups).apply((x, mean, projection))[0]
