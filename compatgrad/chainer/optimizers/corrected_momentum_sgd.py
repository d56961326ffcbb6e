from __future__ import annotations

from compatgrad.chainer import optimizer  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.optimizers._compiled_rule import compiled
from compatgrad.chainer.optimizers._momentum import MomentumMethod, MomentumRule, _default_hyperparam  # noqa: F401

__all__ = ["CorrectedMomentumSGD", "CorrectedMomentumSGDRule"]


@compiled
class CorrectedMomentumSGDRule(MomentumRule):
    """The update rule of `CorrectedMomentumSGD`, whose docstring has the formula. Each parameter has a rule of its own,
    in which its hyperparameters can be set.

    Args:
        parent_hyperparam: Hyperparameter in which values that are None here are looked up; `CorrectedMomentumSGD`
            passes its own. None stands for the defaults of `CorrectedMomentumSGD`.
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

    _loop = "corrected_momentum_sgd"


class CorrectedMomentumSGD(MomentumMethod):
    """Stochastic gradient descent with momentum whose velocity does not contain the learning rate: v = momentum * v -
    grad; param += lr * v. A change of lr therefore scales the whole next step.

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
