from __future__ import annotations

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["CorrectedMomentumSGD", "CorrectedMomentumSGDRule"]

_default_hyperparam = hyperparameters(lr=0.01, momentum=0.9)


@compiled
class CorrectedMomentumSGDRule(CompiledRule):
    """Update rule of one parameter by `CorrectedMomentumSGD`, which tells the formula. A parameter of its own rule has
    hyperparameters of its own.

    Args:
        parent_hyperparam: where hyperparameters are looked up that are None here: `CorrectedMomentumSGD` gives its own.
            None takes the defaults of `CorrectedMomentumSGD`.
        lr: learning rate.
        momentum: factor by which the last step is kept.

    Example:
        >>> param = chainer.Parameter(np.array([1, -2], np.float32))
        >>> param.grad = np.array([2, -4], np.float32)
        >>> param.update_rule = chainer.optimizers.corrected_momentum_sgd.CorrectedMomentumSGDRule(lr=0.1)
        >>> param.update()
        >>> param.array
        array([ 0.8, -1.6], dtype=float32)

    Source: `chainer.optimizers.corrected_momentum_sgd.CorrectedMomentumSGDRule` of Chainer 7.8.1.
    """

    _state_names = ("v",)

    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        lr: float | None = None,
        momentum: float | None = None,
    ) -> None:
        super().__init__(parent_hyperparam or _default_hyperparam, lr=lr, momentum=momentum)

    def _step(self, params, hp):
        return "corrected_momentum_sgd", (hp.lr, hp.momentum)


class CorrectedMomentumSGD(CompiledMethod):
    """Stochastic gradient descent with momentum whose velocity does not contain the learning rate: v = momentum * v -
    grad; param += lr * v. A change of lr acts on the whole step at once.

    Args:
        lr: learning rate.
        momentum: factor by which the last step is kept.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.CorrectedMomentumSGD(lr=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.8, -1.6]], dtype=float32)

    Source: `chainer.optimizers.CorrectedMomentumSGD` of Chainer 7.8.1.
    """

    _rule_class = CorrectedMomentumSGDRule

    def __init__(self, lr: float = _default_hyperparam.lr, momentum: float = _default_hyperparam.momentum) -> None:
        super().__init__(lr=lr, momentum=momentum)

    lr = optimizer.HyperparameterProxy("lr")
    momentum = optimizer.HyperparameterProxy("momentum")
