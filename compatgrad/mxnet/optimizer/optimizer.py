"""All optimizers but the contributions, `create`, `register` and `Updater`."""

from __future__ import annotations

from typing import Any

from ..ndarray import NDArray
from ._adaptive import FTML, LAMB, AdaDelta, AdaGrad, Adam, Adamax, Ftrl, Nadam, RMSProp
from ._base import Optimizer, create, register, zeros_like
from ._descent import DCASGD, LARS, LBSGD, NAG, SGD, SGLD, Signum, ccSGD
from ._updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "create",
    "get_updater",
    "register",
]


@register
class Test(Optimizer):
    """Adds the gradient times `rescale_grad` to the weight, and keeps a copy of the weight: for tests.

    Args:
        rescale_grad, param_idx2name, wd, clip_gradient, learning_rate, lr_scheduler, sym, begin_num_update,
            multi_precision, param_dict: as in Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.Test())(0, nd.array([0.5]), w)
        >>> w.asnumpy().round(4)
        array([1.5], dtype=float32)

    Source: `mxnet.optimizer.Test` of MXNet 1.9.1.
    """

    __test__ = False  # else pytest would take it for a class of tests because of its name

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        return zeros_like(weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        weight[:] += grad * self.rescale_grad
        state[:] = weight


# Pickles name this module, as the original's do.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
