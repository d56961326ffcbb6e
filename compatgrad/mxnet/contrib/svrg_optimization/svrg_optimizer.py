"""The optimizer of an SVRGModule: a usual one for parameters, and an assignment for full gradients."""

from __future__ import annotations

from typing import Any

from ... import optimizer as opt

__all__: list[str] = []

_COMMON = (
    "rescale_grad", "param_idx2name", "wd", "clip_gradient", "learning_rate", "lr_scheduler", "sym",
    "begin_num_update", "multi_precision", "param_dict",
)  # fmt: skip


@opt.register
class _AssignmentOptimizer(opt.Optimizer):
    """Overwrites weights with gradients, so that a store keeps what is pushed."""

    def create_state(self, index: Any, weight: Any) -> None:
        """None: an assignment has no state."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Overwrites `weight`."""
        weight[:] = grad


@opt.register
class _SVRGOptimizer(opt.Optimizer):
    """`default_optimizer` (a name or an Optimizer) for parameters; names with "full" are assigned."""

    def __init__(self, default_optimizer: Any, **kwargs: Any) -> None:
        super().__init__(**self._check_params(**kwargs))
        self.default_opt = (
            opt.create(default_optimizer, **kwargs) if isinstance(default_optimizer, str) else default_optimizer
        )
        self.aux_opt = opt.create(_AssignmentOptimizer.__name__)

    @staticmethod
    def _check_params(**kwargs: Any) -> dict[str, Any]:
        return {key: value for key, value in kwargs.items() if key in _COMMON}

    def _check_index(self, index: Any) -> str:
        """The name of the parameter or full gradient with this index, which may be a name itself."""
        return index if index in self.idx2name.values() else self.idx2name[index]

    def _optimizer_of(self, index: Any) -> Any:
        return self.aux_opt if "full" in self._check_index(index) else self.default_opt

    def create_state(self, index: Any, weight: Any) -> Any:
        """The state of the optimizer for this index."""
        return self._optimizer_of(index).create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Updates with the optimizer for this index."""
        self._optimizer_of(index).update(index, weight, grad, state)
