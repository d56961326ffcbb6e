"""Optimizers of MXNet's contrib package."""

from __future__ import annotations

from typing import Any

from ..ndarray import NDArray, zeros
from ..ndarray._contrib_updates import group_adagrad_update
from ._base import Optimizer, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row of a weight with two axes, and without decay.

    Args:
        eps: what is added under the root of the sum of a row's mean squares.
        **kwargs: arguments of Optimizer.

    Raises:
        AssertionError: in an update, the weight has another number of axes, or there is a decay.

    Example:
        >>> w = nd.array([[1.0, 2.0]])
        >>> mx.optimizer.get_updater(mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.1))(0, nd.array([[0.5, 1.0]]), w)
        >>> w.asnumpy().round(4)
        array([[0.9368, 1.8735]], dtype=float32)

    Source: `mxnet.optimizer.GroupAdaGrad` of MXNet 1.9.1.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        assert len(weight.shape) == 2, f"GroupAdaGrad: expected a weight with two axes, got shape {weight.shape}"
        return zeros((weight.shape[0], 1), weight.context)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        assert isinstance(weight, NDArray), f"weight: expected an NDArray, got {type(weight).__name__}"
        assert isinstance(grad, NDArray), f"grad: expected an NDArray, got {type(grad).__name__}"
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        assert wd == 0, "Weight decay is not supported for GroupAdaGrad"
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        group_adagrad_update(
            weight,
            grad,
            state,
            lr=lr,
            rescale_grad=self.rescale_grad,
            clip_gradient=clip,
            epsilon=self.float_stable_eps,
            out=weight,
        )
