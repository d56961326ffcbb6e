import math
import warnings

import numpy

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledRule, compiled

__all__ = ["AMSBound", "AMSGrad", "AdaBound", "Adam", "AdamRule", "AdamW"]

_default_hyperparam = optimizer.Hyperparameter()
_default_hyperparam.alpha = 0.001
_default_hyperparam.beta1 = 0.9
_default_hyperparam.beta2 = 0.999
_default_hyperparam.eps = 1e-8
_default_hyperparam.eta = 1.0
_default_hyperparam.weight_decay_rate = 0
_default_hyperparam.amsgrad = False
_default_hyperparam.adabound = False
_default_hyperparam.final_lr = 0.1
_default_hyperparam.gamma = 1e-3

_float32 = numpy.dtype(numpy.float32)
_smallest_float32 = 1e-37


def _learning_rate(hp, t):
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have not been started."
        )
    return hp.alpha * math.sqrt(1.0 - math.pow(hp.beta2, t)) / (1.0 - math.pow(hp.beta1, t))


def _intermediate_dtype(dtype):
    return _float32 if dtype == numpy.float16 else dtype


@compiled
class AdamRule(CompiledRule):
    """Update rule of Adam and its variants; float16 is computed in float32. See `Adam`.

    ValueError where eps is zero in the dtype of the computation.
    """

    def __init__(
        self,
        parent_hyperparam=None,
        alpha=None,
        beta1=None,
        beta2=None,
        eps=None,
        eta=None,
        weight_decay_rate=None,
        amsgrad=None,
        adabound=None,
        final_lr=None,
        gamma=None,
    ):
        super().__init__(
            parent_hyperparam or _default_hyperparam,
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            eta=eta,
            weight_decay_rate=weight_decay_rate,
            amsgrad=amsgrad,
            adabound=adabound,
            final_lr=final_lr,
            gamma=gamma,
        )
        if self.hyperparam.adabound:
            self.initial_alpha = self.hyperparam.alpha

    @property
    def _state_names(self):
        return ("m", "v", "vhat") if self.hyperparam.amsgrad else ("m", "v")

    def _step(self, params, hp):
        if hp.eps < _smallest_float32:
            self._check_eps(hp.eps, (_intermediate_dtype(param.dtype) for param in params), "Adam")
        constants = (
            _learning_rate(hp, self.t),
            1.0 - hp.beta1,
            1.0 - hp.beta2,
            hp.eps,
            1.0 - hp.eta * hp.weight_decay_rate,
            -hp.eta,
        )
        if hp.adabound:
            return "amsbound" if hp.amsgrad else "adabound", (*constants, *self.bounds)
        return "amsgrad" if hp.amsgrad else "adam", constants

    @property
    def alpha_t(self):
        """Learning rate of this step, with the bias corrections in it. RuntimeError before the first
        update."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self):
        warnings.warn(
            "AdamRule.lr has been renamed to AdamRule.alpha_t. Use of AdamRule.lr is deprecated in Chainer v6.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.alpha_t

    @property
    def bounds(self):
        """Lower and upper bound of AdaBound's step size. RuntimeError before the first update."""
        if self.t == 0:
            raise RuntimeError(
                "Can't determine the bounds of AdaBound optimizer because the update steps have not been started."
            )
        hp = self.hyperparam
        final_lr = hp.final_lr * hp.alpha / self.initial_alpha  # follows changes of alpha
        lower = final_lr * (1.0 - 1.0 / (hp.gamma * self.t + 1))
        upper = final_lr * (1.0 + 1.0 / (hp.gamma * self.t))
        return lower, upper


class Adam(optimizer.GradientMethod):
    """Adam (https://arxiv.org/abs/1412.6980v8).

    `weight_decay_rate` makes it AdamW (https://openreview.net/forum?id=Bkg6RiCqY7, whose schedule multiplier
    is `eta`), `amsgrad` AMSGrad (https://openreview.net/forum?id=ryQu7f-RZ), `adabound` with `final_lr` and
    `gamma` AdaBound (https://openreview.net/forum?id=Bkg3g2R9FX).
    """

    def __init__(
        self,
        alpha=_default_hyperparam.alpha,
        beta1=_default_hyperparam.beta1,
        beta2=_default_hyperparam.beta2,
        eps=_default_hyperparam.eps,
        eta=_default_hyperparam.eta,
        weight_decay_rate=_default_hyperparam.weight_decay_rate,
        amsgrad=_default_hyperparam.amsgrad,
        adabound=_default_hyperparam.adabound,
        final_lr=_default_hyperparam.final_lr,
        gamma=_default_hyperparam.gamma,
    ):
        super().__init__()
        self.hyperparam.alpha = alpha
        self.hyperparam.beta1 = beta1
        self.hyperparam.beta2 = beta2
        self.hyperparam.eps = eps
        self.hyperparam.eta = eta
        self.hyperparam.weight_decay_rate = weight_decay_rate
        self.hyperparam.amsgrad = amsgrad
        self.hyperparam.adabound = adabound
        self.hyperparam.final_lr = final_lr
        self.hyperparam.gamma = gamma

    alpha = optimizer.HyperparameterProxy("alpha")
    beta1 = optimizer.HyperparameterProxy("beta1")
    beta2 = optimizer.HyperparameterProxy("beta2")
    eps = optimizer.HyperparameterProxy("eps")
    eta = optimizer.HyperparameterProxy("eta")
    weight_decay_rate = optimizer.HyperparameterProxy("weight_decay_rate")
    amsgrad = optimizer.HyperparameterProxy("amsgrad")
    adabound = optimizer.HyperparameterProxy("adabound")
    final_lr = optimizer.HyperparameterProxy("final_lr")
    gamma = optimizer.HyperparameterProxy("gamma")

    def create_update_rule(self):
        return AdamRule(self.hyperparam)

    @property
    def alpha_t(self):
        """Learning rate of this step, with the bias corrections in it. RuntimeError before the first
        update."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self):
        warnings.warn(
            "Adam.lr has been renamed to AdamRule.alpha_t. Use of Adam.lr is deprecated in Chainer v6.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.alpha_t


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        alpha=_default_hyperparam.alpha,
        beta1=_default_hyperparam.beta1,
        beta2=_default_hyperparam.beta2,
        eps=_default_hyperparam.eps,
        eta=_default_hyperparam.eta,
        weight_decay_rate=_default_hyperparam.weight_decay_rate,
    ):
        super().__init__(alpha, beta1, beta2, eps, eta, weight_decay_rate)


class AMSGrad(Adam):
    """Adam with `amsgrad`."""

    def __init__(
        self,
        alpha=_default_hyperparam.alpha,
        beta1=_default_hyperparam.beta1,
        beta2=_default_hyperparam.beta2,
        eps=_default_hyperparam.eps,
        eta=_default_hyperparam.eta,
    ):
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True)


class AdaBound(Adam):
    """Adam with `adabound`."""

    def __init__(
        self,
        alpha=_default_hyperparam.alpha,
        beta1=_default_hyperparam.beta1,
        beta2=_default_hyperparam.beta2,
        final_lr=_default_hyperparam.final_lr,
        gamma=_default_hyperparam.gamma,
        eps=_default_hyperparam.eps,
        eta=_default_hyperparam.eta,
    ):
        super().__init__(alpha, beta1, beta2, eps, eta, adabound=True, final_lr=final_lr, gamma=gamma)


class AMSBound(Adam):
    """Adam with `amsgrad` and `adabound`."""

    def __init__(
        self,
        alpha=_default_hyperparam.alpha,
        beta1=_default_hyperparam.beta1,
        beta2=_default_hyperparam.beta2,
        final_lr=_default_hyperparam.final_lr,
        gamma=_default_hyperparam.gamma,
        eps=_default_hyperparam.eps,
        eta=_default_hyperparam.eta,
    ):
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True, adabound=True, final_lr=final_lr, gamma=gamma)
