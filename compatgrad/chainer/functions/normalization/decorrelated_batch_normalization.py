"""Decorrelated batch normalization: whitening of groups of channels (Huang et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _bound, _composed
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.math.average import average
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


def _grouped(x, groups):
    """Reshapes (N, C, …) to (groups, C / groups, values of a channel)."""
    return reshape(transpose(x, (1, 0, *range(2, x.ndim))), (groups, x.shape[1] // groups, -1))


def _ungrouped(y, shape):
    return transpose(reshape(y, (shape[1], shape[0], *shape[2:])), (1, 0, *range(2, len(shape))))


class DecorrelatedBatchNormalization(_composed.ComposedFunction):
    """The node of `chainer.functions.decorrelated_batch_normalization` in the graph, its result's `creator`.

    Args:
        groups: the number of groups of channels.
        eps: added to the variances.
        mean: array of the running mean, (groups, c / groups), updated in place; None for none.
        projection: array of the running projection, (groups, c / groups, c / groups), updated in place; None for none.
        decay: factor by which the running statistics keep their old value.

    Example:
        >>> F.decorrelated_batch_normalization(np.array([[0.0], [2.0]]), groups=1).creator.label
        'DecorrelatedBatchNormalization'

    Source: `chainer.functions.normalization.decorrelated_batch_normalization.DecorrelatedBatchNormalization` of Chainer
    7.8.1.
    """

    def __init__(
        self,
        groups: int = 16,
        eps: float = 2e-5,
        mean: NdArray | None = None,
        projection: NdArray | None = None,
        decay: float = 0.9,
    ) -> None:
        self.groups = groups
        self.eps = eps
        self.running_mean = mean
        self.running_projection = projection
        self.decay = decay

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)
        x = in_types[0]
        type_check.expect(x.dtype.kind == "f", x.shape[1] % self.groups == 0)
        type_check.expect(x.ndim >= 2)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
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

    def compose(self, x: Variable) -> Variable:
        x_hat = _grouped(x, self.groups)
        mean = average(x_hat, 2, keepdims=True)
        x_hat = x_hat - mean
        xp = backend.get_array_module(x.array)
        noise = x.dtype.type(self.eps) * xp.eye(x_hat.shape[1], dtype=x.dtype)
        covariance = matmul(x_hat, x_hat, transb=True) / x_hat.shape[2] + noise
        projection = _bound.inverse_root(covariance)
        self._mean, self._projection = mean, projection
        return _ungrouped(matmul(projection, x_hat), x.shape)


class FixedDecorrelatedBatchNormalization(_composed.ComposedFunction):
    documented = "fixed_decorrelated_batch_normalization"

    def __init__(self, groups: int) -> None:
        self.groups = groups

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 3)
        x, mean, projection = in_types
        type_check.expect(x.dtype.kind == "f", mean.dtype == x.dtype, projection.dtype == x.dtype)
        type_check.expect(x.ndim >= 2)

    def compose(self, x: Variable, mean: Variable, projection: Variable) -> Variable:
        x_hat = _grouped(x, self.groups) - reshape(mean, (*mean.shape, 1))
        return _ungrouped(matmul(projection, x_hat), x.shape)


def decorrelated_batch_normalization(x: VariableOrArray, **kwargs: Any) -> Variable:
    """`x` with zero mean and unit covariance within each group of channels.

    Args:
        x: floating, (n, c, ...): n samples of c channels.
        **kwargs: `groups` (16), into which the channels are divided; `eps` (2e-5), added to the variances;
            `running_mean` (None), an array (groups, c / groups), and `running_projection` (None), an array (groups, c /
            groups, c / groups), both updated in place; `decay` (0.9), the weight of the old value in the update.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or `groups` does not divide c.
        TypeError: there is an unknown option.

    Example:
        >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
        >>> F.decorrelated_batch_normalization(x, groups=1, eps=0).array
        array([[-1., -1.],
               [ 1., -1.],
               [-1.,  1.],
               [ 1.,  1.]])

    Source: `chainer.functions.decorrelated_batch_normalization` of Chainer 7.8.1; Huang et al. 2018.
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


def fixed_decorrelated_batch_normalization(
    x: VariableOrArray, mean: VariableOrArray, projection: VariableOrArray, groups: int = 16
) -> Variable:
    """`decorrelated_batch_normalization` with the given mean and projection.

    Args:
        x: floating, (n, c, ...): n samples of c channels.
        mean: of the dtype of `x`, (groups, c / groups).
        projection: of the dtype of `x`, (groups, c / groups, c / groups).
        groups: the number of groups of channels.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit, or `groups` does not divide c.

    Example:
        >>> x, mean, projection = np.array([[3.0, 4.0]]), np.array([[1.0, 2.0]]), np.array([[[2.0, 0.0], [0.0, 1.0]]])
        >>> F.fixed_decorrelated_batch_normalization(x, mean, projection, groups=1).array
        array([[4., 2.]])

    Source: `chainer.functions.fixed_decorrelated_batch_normalization` of Chainer 7.8.1; Huang et al. 2018.
    """
    return FixedDecorrelatedBatchNormalization(groups).apply((x, mean, projection))[0]
