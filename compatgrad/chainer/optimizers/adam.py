from __future__ import annotations

import math
import warnings

import numpy

from compatgrad.chainer import optimizer
from compatgrad.chainer.optimizers._compiled_rule import CompiledMethod, CompiledRule, compiled, hyperparameters

__all__ = ["AMSBound", "AMSGrad", "AdaBound", "Adam", "AdamRule", "AdamW"]

_default_hyperparam = hyperparameters(
    alpha=0.001,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    eta=1.0,
    weight_decay_rate=0,
    amsgrad=False,
    adabound=False,
    final_lr=0.1,
    gamma=1e-3,
)

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
    def __init__(
        self,
        parent_hyperparam: optimizer.Hyperparameter | None = None,
        alpha: float | None = None,
        beta1: float | None = None,
        beta2: float | None = None,
        eps: float | None = None,
        eta: float | None = None,
        weight_decay_rate: float | None = None,
        amsgrad: bool | None = None,
        adabound: bool | None = None,
        final_lr: float | None = None,
        gamma: float | None = None,
    ) -> None:
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
    def alpha_t(self) -> float:
        """Learning rate of this step, including the bias corrections. Raises RuntimeError before the first
        update."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """Deprecated name of `alpha_t`; it warns with DeprecationWarning."""
        warnings.warn(
            "AdamRule.lr has been renamed to AdamRule.alpha_t. Use of AdamRule.lr is deprecated in Chainer v6.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.alpha_t

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of AdaBound's step size. Raises RuntimeError before the first update."""
        if self.t == 0:
            raise RuntimeError(
                "Can't determine the bounds of AdaBound optimizer because the update steps have not been started."
            )
        hp = self.hyperparam
        final_lr = hp.final_lr * hp.alpha / self.initial_alpha  # a program may have changed alpha
        lower = final_lr * (1.0 - 1.0 / (hp.gamma * self.t + 1))
        upper = final_lr * (1.0 + 1.0 / (hp.gamma * self.t))
        return lower, upper


class Adam(CompiledMethod):
    """Momentum divided by the root of a moving mean of squared gradients; the base class of its variants. float16 is
    computed in float32.

    m += (1 - beta1) * (grad - m); v += (1 - beta2) * (grad**2 - v); param -= eta * (alpha_t * m / (sqrt(v) + eps) +
    weight_decay_rate * param), with alpha_t = alpha * sqrt(1 - beta2**t) / (1 - beta1**t) in the update of number t.

    Args:
        alpha: learning rate.
        beta1: weight of the old value when the mean of gradients is updated.
        beta2: weight of the old value when the mean of squared gradients is updated.
        eps: small number that keeps the divisor from 0.
        eta: factor of the whole step, weight decay included: the schedule multiplier of AdamW.
        weight_decay_rate: factor of the parameter; the product is subtracted in each step, independently of the
            gradient.
        amsgrad: True divides by the greatest mean square so far.
        adabound: True bounds the step size, see `AdaBound`.
        final_lr: step size to which the bounds converge.
        gamma: speed at which the bounds converge: about 1 / gamma updates.

    Raises:
        ValueError: in an update, eps becomes 0 in the dtype of the computation, float32 or the parameter's.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.Adam(alpha=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.90000004, -1.9       ]], dtype=float32)

    Source: `chainer.optimizers.Adam` of Chainer 7.8.1; D. Kingma and J. Ba, 2014, https://arxiv.org/abs/1412.6980v8.
    """

    _rule_class = AdamRule

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
        weight_decay_rate: float = _default_hyperparam.weight_decay_rate,
        amsgrad: bool = _default_hyperparam.amsgrad,
        adabound: bool = _default_hyperparam.adabound,
        final_lr: float = _default_hyperparam.final_lr,
        gamma: float = _default_hyperparam.gamma,
    ) -> None:
        super().__init__(
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

    @property
    def alpha_t(self) -> float:
        """Learning rate of this step, including the bias corrections. Raises RuntimeError before the first
        update."""
        return _learning_rate(self.hyperparam, self.t)

    @property
    def lr(self) -> float:
        """Deprecated name of `alpha_t`; it warns with DeprecationWarning."""
        warnings.warn(
            "Adam.lr has been renamed to AdamRule.alpha_t. Use of Adam.lr is deprecated in Chainer v6.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.alpha_t


class AdamW(Adam):
    """Adam with decoupled weight decay: see `Adam` for the formula.

    Args:
        alpha: learning rate.
        beta1: weight of the old value when the mean of gradients is updated.
        beta2: weight of the old value when the mean of squared gradients is updated.
        eps: small number that keeps the divisor from 0.
        eta: factor of the whole step, weight decay included: the schedule multiplier of AdamW.
        weight_decay_rate: factor of the parameter; the product is subtracted in each step, independently of the
            gradient.

    Raises:
        ValueError: in an update, eps becomes 0 in the dtype of the computation, float32 or the parameter's.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.AdamW(alpha=0.1, weight_decay_rate=0.01).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.89000005, -1.88      ]], dtype=float32)

    Source: `chainer.optimizers.AdamW` of Chainer 7.8.1; I. Loshchilov and F. Hutter, ICLR 2019,
    https://openreview.net/forum?id=Bkg6RiCqY7.
    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
        weight_decay_rate: float = _default_hyperparam.weight_decay_rate,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, weight_decay_rate)


class AMSGrad(Adam):
    """Adam with max(vhat, v), the greatest mean square so far, in place of v: step sizes never grow.

    Args:
        alpha: learning rate.
        beta1: weight of the old value when the mean of gradients is updated.
        beta2: weight of the old value when the mean of squared gradients is updated.
        eps: small number that keeps the divisor from 0.
        eta: factor of the whole step, weight decay included: the schedule multiplier of AdamW.

    Raises:
        ValueError: in an update, eps becomes 0 in the dtype of the computation, float32 or the parameter's.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.AMSGrad(alpha=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.90000004, -1.9       ]], dtype=float32)

    Source: `chainer.optimizers.AMSGrad` of Chainer 7.8.1; S. Reddi et al., ICLR 2018,
    https://openreview.net/forum?id=ryQu7f-RZ.
    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True)


class AdaBound(Adam):
    """Adam whose step sizes are kept between bounds that converge to final_lr: it changes gradually from Adam into SGD.

    In the update of number t, alpha_t / (sqrt(v) + eps) is clipped to [f * (1 - 1 / (gamma * t + 1)), f * (1 + 1 /
    (gamma * t))], where f is final_lr times the ratio of alpha to its first value.

    Args:
        alpha: learning rate.
        beta1: weight of the old value when the mean of gradients is updated.
        beta2: weight of the old value when the mean of squared gradients is updated.
        final_lr: step size to which the bounds converge.
        gamma: speed at which the bounds converge: about 1 / gamma updates.
        eps: small number that keeps the divisor from 0.
        eta: factor of the whole step, weight decay included: the schedule multiplier of AdamW.

    Raises:
        ValueError: in an update, eps becomes 0 in the dtype of the computation, float32 or the parameter's.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.AdaBound(alpha=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.90000004, -1.9       ]], dtype=float32)

    Source: `chainer.optimizers.AdaBound` of Chainer 7.8.1; L. Luo et al., ICLR 2019,
    https://openreview.net/forum?id=Bkg3g2R9FX.
    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        final_lr: float = _default_hyperparam.final_lr,
        gamma: float = _default_hyperparam.gamma,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, adabound=True, final_lr=final_lr, gamma=gamma)


class AMSBound(Adam):
    """AdaBound with max(vhat, v), the greatest mean square so far, in place of v; see `AdaBound` and `AMSGrad`.

    Args:
        alpha: learning rate.
        beta1: weight of the old value when the mean of gradients is updated.
        beta2: weight of the old value when the mean of squared gradients is updated.
        final_lr: step size to which the bounds converge.
        gamma: speed at which the bounds converge: about 1 / gamma updates.
        eps: small number that keeps the divisor from 0.
        eta: factor of the whole step, weight decay included: the schedule multiplier of AdamW.

    Raises:
        ValueError: in an update, eps becomes 0 in the dtype of the computation, float32 or the parameter's.

    Example:
        >>> layer = L.Linear(2, 1, nobias=True, initialW=np.array([[1, -2]]))
        >>> opt = chainer.optimizers.AMSBound(alpha=0.1).setup(layer)
        >>> opt.update(lambda: F.sum(layer.W**2))
        >>> layer.W.array
        array([[ 0.90000004, -1.9       ]], dtype=float32)

    Source: `chainer.optimizers.AMSBound` of Chainer 7.8.1; L. Luo et al., ICLR 2019,
    https://openreview.net/forum?id=Bkg3g2R9FX.
    """

    def __init__(
        self,
        alpha: float = _default_hyperparam.alpha,
        beta1: float = _default_hyperparam.beta1,
        beta2: float = _default_hyperparam.beta2,
        final_lr: float = _default_hyperparam.final_lr,
        gamma: float = _default_hyperparam.gamma,
        eps: float = _default_hyperparam.eps,
        eta: float = _default_hyperparam.eta,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True, adabound=True, final_lr=final_lr, gamma=gamma)
