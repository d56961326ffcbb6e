"""All optimizers but the contributions, `create`, `register` and `Updater`."""

from __future__ import annotations

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
    """Adds the gradient, scaled, to the weight, and keeps a copy of the weight: for tests."""

    __test__ = False  # no test case itself

    def create_state(self, index, weight):
        return zeros_like(weight)

    def update(self, index, weight, grad, state):
        weight[:] += grad * self.rescale_grad
        state[:] = weight


# Pickles name this module, as the original's do.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
