"""The gradient of batch normalization with an addition and ReLU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented, section
from compatgrad.nnabla.backward_function.batch_normalization import _gradients
from compatgrad.nnabla.functions.normalization import fused_batch_normalization

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
    result = _gradients(dy, x, gamma, mean, variance, axes, eps, batch_stat)
    return result if z is None else (*result, dy)


@documented(
    section(fused_batch_normalization.__doc__, "Args"),
    source="nnabla.backward_function.fused_batch_normalization",
    all_have=(),
)
class FusedBatchNormalizationBackward:
    """The gradients of `fused_batch_normalization`.

    A call takes dy, x, beta, gamma, mean, variance, y and, if there is one, z. It returns the gradients of x, beta,
    gamma and z.

    Args:
        ctx: has no effect; the current context is used.

    Attributes:
        is_add: whether there is a z; it has no effect, because the number of inputs determines it.

    Example:
        >>> from compatgrad.nnabla.backward_function.fused_batch_normalization import FusedBatchNormalizationBackward
        >>> x, p = nn.Variable((4, 3)), nn.Variable((1, 3))
        >>> gx, gbeta, ggamma = FusedBatchNormalizationBackward(None)(x, x, p, p, p, p, x)
        >>> gx.shape, ggamma.shape
        ((4, 3), (1, 3))
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
