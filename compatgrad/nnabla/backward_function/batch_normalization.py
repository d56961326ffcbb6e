"""The gradient of batch normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented, section
from compatgrad.nnabla.functions._statistics import kept_shape, refined
from compatgrad.nnabla.functions.normalization import batch_normalization

__all__ = ["BatchNormalizationBackward"]


def _gradients(
    dy: Any, x: Any, gamma: Any, mean: Any, variance: Any, axes: Sequence[int], eps: float, batch_stat: bool
) -> tuple:
    """Gradients of x, beta and gamma; gamma may be None."""
    axes = refined("batch_normalization_backward", "axes", axes, x.ndim)
    over = [a for a in range(x.ndim) if a not in axes]
    if batch_stat:
        scale = op.sum(x * 0, axis=over, keepdims=True) + 1 if gamma is None else gamma
        dx, dgamma, dbeta = op.batch_normalization_grad(x, scale, dy, eps=eps, axis=over)
        return dx, op.reshape(dbeta, shape=kept_shape(x, axes)), op.reshape(dgamma, shape=kept_shape(x, axes))
    r = op.rsqrt(variance + eps)
    return (
        dy * r if gamma is None else dy * (gamma * r),
        op.sum(dy, axis=over, keepdims=True),
        op.sum(dy * (x - mean), axis=over, keepdims=True) * r,
    )


@function("BatchNormalizationBackward", "dy, x, beta?, gamma?, mean?, variance?")
def _backward(
    dy,
    x,
    beta=None,
    gamma=None,
    mean=None,
    variance=None,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    no_scale=False,
    no_bias=False,
):
    dx, dbeta, dgamma = _gradients(dy, x, gamma, mean, variance, axes, eps, batch_stat)
    return (dx,) + (() if no_bias else (dbeta,)) + (() if no_scale else (dgamma,))


@documented(
    section(batch_normalization.__doc__, "Args"), source="nnabla.backward_function.batch_normalization", all_have=()
)
class BatchNormalizationBackward:
    """The gradients of `batch_normalization`.

    A call takes dy, x, beta and gamma (those that exist), mean and variance. It returns the gradients of x, beta and
    gamma.

    Args:
        ctx: has no effect; the current context is used.
        no_scale: whether there is no gamma.
        no_bias: whether there is no beta.

    Example:
        >>> from compatgrad.nnabla.backward_function.batch_normalization import BatchNormalizationBackward
        >>> x, p = nn.Variable((4, 3)), nn.Variable((1, 3))
        >>> gx, gbeta, ggamma = BatchNormalizationBackward(None)(nn.Variable((4, 3)), x, p, p, p, p)
        >>> gx.shape, ggamma.shape
        ((4, 3), (1, 3))
    """

    def __init__(
        self,
        ctx: Any,
        axes: Sequence[int] = (1,),
        decay_rate: float = 0.9,
        eps: float = 1e-05,
        batch_stat: bool = True,
        no_scale: bool = False,
        no_bias: bool = False,
    ) -> None:
        self.ctx = ctx
        self.args = dict(
            axes=axes, decay_rate=decay_rate, eps=eps, batch_stat=batch_stat, no_scale=no_scale, no_bias=no_bias
        )

    def __call__(self, dy: Any, x: Any, *rest: Any) -> Any:
        *given, mean, variance = rest
        beta = None if self.args["no_bias"] else given.pop(0)
        gamma = None if self.args["no_scale"] else given.pop(0)
        return _backward(dy, x, beta, gamma, mean, variance, **self.args)
