"""The gradient of batch normalization with an addition and ReLU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.backward_function.batch_normalization import gradients

__all__ = ["FusedBatchNormalizationBackward"]


@function("FusedBatchNormalizationBackward", "dy, x, beta, gamma, mean, variance, y, z?")
def _backward(
    dy,
    x,
    beta,
    gamma,
    mean,
    variance,
    y,
    z=None,
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    nonlinearity="relu",
):
    dy = op.relu_grad(dy, y)
    result = gradients(dy, x, gamma, mean, variance, axes, eps, batch_stat)
    return result if z is None else (*result, dy)


class FusedBatchNormalizationBackward:
    """Called with dy, x, beta, gamma, mean, variance, y and, if it was added, z: the gradients of x, beta, gamma, z.

    `is_add` says whether there is a z; here the number of inputs does.
    """

    is_add = False

    def __init__(
        self,
        ctx: Any,
        axes: Sequence[int] = (1,),
        decay_rate: float = 0.9,
        eps: float = 1e-05,
        batch_stat: bool = True,
        nonlinearity: str = "relu",
    ) -> None:
        self.ctx = ctx
        self.args = dict(axes=axes, decay_rate=decay_rate, eps=eps, batch_stat=batch_stat, nonlinearity=nonlinearity)

    def __call__(self, *inputs: Any) -> Any:
        return _backward(*inputs, **self.args)
