from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from compatgrad.chainer import optimizer
from compatgrad.chainer.backend import using_device
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Parameter

__all__ = ["SMORMS3", "SMORMS3Rule"]

_default_hyperparam = hyperparameters(lr=0.001, eps=1e-16)


@compiled
class SMORMS3Rule(CompiledRule):
    _state_names = ("mem", "g", "g2")

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        eps: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, eps=eps)

    def init_state(self, param: Parameter) -> None:
        """Sets `mem` to 1 and the means to 0."""
        with using_device(param.device):
            self.state["mem"] = param.device.xp.ones_like(param.data)
        self._make_zeros(param, "g", "g2")

    def _state_tensors(self, names):
        # Each step of the original makes new arrays: a program that has kept those of a step keeps their values.
        for name in names:
            self._state[name] = copy.copy(self._state[name])
        return super()._state_tensors(names)

    def _step(self, params, hp):
        return "smorms3", (hp.lr, hp.eps, 1.0)


class SMORMS3(CompiledMethod):
    """Squared mean over root mean squared cubed: the noisier the gradients are, the more steps their mean is taken
    over.

    r = 1 / (mem + 1); g = (1 - r) * g + r * grad; g2 = (1 - r) * g2 + r * grad**2; x = g**2 / (g2 + eps); param -= grad
    * min(x, lr) / (sqrt(g2) + eps); mem = 1 + mem * (1 - x).

    Args:
        lr: upper bound of the step size.
        eps: small number that keeps the divisor from 0.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.SMORMS3(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.8585786, -1.8585787]], dtype=float32)

    Source: `chainer.optimizers.SMORMS3` of Chainer 7.8.1; S. Funk, http://sifter.org/~simon/journal/20150420.html.
    """

    _rule_class = SMORMS3Rule

    def __init__(self, lr: float = _default_hyperparam.lr, eps: float = _default_hyperparam.eps) -> None:
        super().__init__(lr=lr, eps=eps)

    lr = optimizer.HyperparameterProxy("lr")
    eps = optimizer.HyperparameterProxy("eps")
