"""Optimizers that MXNet has as contributions."""

from __future__ import annotations

from ..ndarray import NDArray, zeros
from ..ndarray._contrib_updates import group_adagrad_update
from ._base import Optimizer, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row of a weight with two axes (AssertionError for others). There is no decay."""

    def __init__(self, eps=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        assert len(weight.shape) == 2, f"GroupAdaGrad: expected a weight with two axes, got shape {weight.shape}"
        return zeros((weight.shape[0], 1), weight.context)

    def update(self, index, weight, grad, state):
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
