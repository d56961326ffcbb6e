"""Solvers: they update parameters from their gradients."""

import math

import torch

from compatgrad import _C

from ._solver import Solver
from ._solver_files import SolverState
from .callback import set_solver_post_hook, set_solver_pre_hook, unset_solver_post_hook, unset_solver_pre_hook

__all__ = [
    "AMSBound",
    "AMSGRAD",
    "AdaBelief",
    "AdaBound",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Lars",
    "Lion",
    "Momentum",
    "Nesterov",
    "RMSprop",
    "RMSpropGraves",
    "Sgd",
    "SgdW",
    "Solver",
    "SolverState",
    "set_solver_post_hook",
    "set_solver_pre_hook",
    "unset_solver_post_hook",
    "unset_solver_pre_hook",
]


class Sgd(Solver):
    """Gradient descent: w -= lr * g."""

    _rule = "sgd"

    def __init__(self, lr=1e-3):
        super().__init__(lr=lr)

    def _hypers(self, t):
        return (self._lr,)


class Momentum(Solver):
    """Gradient descent with momentum: m = momentum * m + lr * g; w -= m."""

    _rule = "momentum"
    _states = ("m",)

    def __init__(self, lr=1e-3, momentum=0.9):
        super().__init__(lr=lr, momentum=momentum)

    def _hypers(self, t):
        return self._lr, self.info["momentum"], 0.0


class SgdW(Momentum):
    """`Momentum` with decoupled weight decay: w loses lr / (first lr) * wd * w as well.

    wd: the decay where `weight_decay` was not called since the last update.
    """

    _fused = True

    def __init__(self, lr=1e-3, momentum=0.9, wd=1e-4):
        Solver.__init__(self, lr=lr, momentum=momentum, wd=wd)
        self._set_default_decay(wd)

    def _hypers(self, t):
        return self._lr, self.info["momentum"], self._relative_rate() * self._decay


class Nesterov(Solver):
    """Nesterov's gradient: v = momentum * m - lr * g; w += (1 + momentum) * v - momentum * m; m = v."""

    _rule = "nesterov"
    _states = ("m",)

    def __init__(self, lr=1e-3, momentum=0.9):
        super().__init__(lr=lr, momentum=momentum)

    def _hypers(self, t):
        momentum = self.info["momentum"]
        return self._lr, momentum, 1 + momentum


class Lars(Solver):
    """`Momentum` of g + decay * w, with rates per parameter: lr * coefficient * |w| / (|g| + decay * |w|).

    Where |w| is below eps the rate is lr. The gradient arrays change too. RuntimeError where a norm is NaN
    or the decay makes the rate negative.
    """

    _states = ("v",)
    _fused = True

    def __init__(self, lr=1e-3, momentum=0.9, coefficient=0.001, eps=1e-6):
        super().__init__(lr=lr, momentum=momentum, coefficient=coefficient, eps=eps)

    def _step(self, t, params, states):
        xs, gs = self._tensors(params, states)
        eps, momentum, coefficient = self.info["eps"], self.info["momentum"], self.info["coefficient"]
        hypers = []
        for w, g in zip(_norms(xs), _norms(gs), strict=True):
            total = g + self._decay * w
            if not total >= 0:
                text = "Lars: local learning rate should be positive or zero"
                raise RuntimeError(f"{text}; |g| + decay * |w| is {total}")
            total += eps if total < eps else 0
            rate = self._lr if w < eps else self._lr * coefficient * w / total
            hypers.append((rate, momentum, 0.0))
        if self._decay:
            _C.optim_step("weight_decay", gs, xs, None, (self._decay,))
        _C.optim_step("momentum", xs, gs, states, hypers)


class Adagrad(Solver):
    """AdaGrad: v += g ** 2; w -= lr * g / (sqrt(v) + eps)."""

    _rule = "ada_grad"
    _states = ("v",)

    def __init__(self, lr=1e-2, eps=1e-8):
        super().__init__(lr=lr, eps=eps)

    def _hypers(self, t):
        return self._lr, self.info["eps"]


class Adadelta(Solver):
    """AdaDelta: w -= lr * d, d = sqrt((E[d ** 2] + eps) / (E[g ** 2] + eps)) * g; E decays by `decay`."""

    _rule = "ada_delta_scaled"
    _states = ("e_sqr_grad", "e_sqr_delta")

    def __init__(self, lr=1.0, decay=0.95, eps=1e-6):
        super().__init__(lr=lr, decay=decay, eps=eps)

    def _hypers(self, t):
        decay = self.info["decay"]
        return decay, 1 - decay, self.info["eps"], self._lr


class RMSprop(Solver):
    """RMSprop: v = decay * v + (1 - decay) * g ** 2; w -= lr * g / (sqrt(v) + eps)."""

    _rule = "rmsprop"
    _states = ("v",)

    def __init__(self, lr=1e-3, decay=0.9, eps=1e-8):
        super().__init__(lr=lr, decay=decay, eps=eps)

    def _hypers(self, t):
        decay = self.info["decay"]
        return self._lr, decay, 1 - decay, self.info["eps"]


class RMSpropGraves(Solver):
    """RMSprop after Graves: with n and g, the means of the gradient's square and of itself, and momentum.

    d = momentum * d - lr * g / sqrt(n - mean ** 2 + eps); w += d.
    """

    _rule = "rmsprop_graves"
    _states = ("n", "g", "d")

    def __init__(self, lr=1e-4, decay=0.95, momentum=0.9, eps=1e-4):
        super().__init__(lr=lr, decay=decay, momentum=momentum, eps=eps)

    def _hypers(self, t):
        decay = self.info["decay"]
        return self._lr, decay, 1 - decay, self.info["momentum"], self.info["eps"]


class _Adam(Solver):
    # what Adam and its variants share
    _rule = "adam"
    _states = ("mean", "var")

    def _bias_correction(self, t):
        return math.sqrt(1 - self.info["beta2"] ** t) / (1 - self.info["beta1"] ** t)

    def _hypers(self, t, corrected=True, decay=0.0):
        beta1, beta2, eps = self.info["beta1"], self.info["beta2"], self.info["eps"]
        rate = self._lr * self._bias_correction(t) if corrected else self._lr
        return rate, 1 - beta1, 1 - beta2, eps, 1 - decay, -1.0

    def _bounds(self, t):
        final = self.info["final_lr"] * self._relative_rate()
        gamma = self.info["gamma"]
        return final * (1 - 1 / (gamma * t + 1)), final * (1 + 1 / (gamma * t))


class Adam(_Adam):
    """Adam: w -= alpha * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * mean / (sqrt(var) + eps).

    mean and var decay by beta1 and beta2.
    """

    def __init__(self, alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps)


class AdamW(_Adam):
    """`Adam` with decoupled weight decay: w loses alpha / (first alpha) * wd * w as well.

    wd: the decay where `weight_decay` was not called since the last update.
    """

    _fused = True

    def __init__(self, alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, wd=1e-4):
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, wd=wd)
        self._set_default_decay(wd)

    def _hypers(self, t):
        return super()._hypers(t, decay=self._relative_rate() * self._decay)


class AdaBound(_Adam):
    """`Adam` whose rates per element stay within bounds that close in on final_lr: fast for a large gamma."""

    _rule = "adabound"

    def __init__(self, alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, final_lr=0.1, gamma=0.001):
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, final_lr=final_lr, gamma=gamma)

    def _hypers(self, t):
        return *super()._hypers(t), *self._bounds(t)


class AMSGRAD(_Adam):
    """`Adam` that divides by the largest var so far; the bias is corrected with `bias_correction` only."""

    _rule = "amsgrad"
    _states = ("m", "v", "v_hat")

    def __init__(self, alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, bias_correction=False):
        corrected = bool(bias_correction)
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, bias_correction=corrected)

    def _hypers(self, t):
        return super()._hypers(t, self.info["bias_correction"])


class AMSBound(_Adam):
    """`AMSGRAD` with `AdaBound`'s bounds.

    The original's upper bound grows with t, by a misplaced parenthesis; this one is the paper's.
    """

    _rule = "amsbound"
    _states = ("m", "v", "v_hat")

    def __init__(self, alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, final_lr=0.1, gamma=0.001, bias_correction=False):
        super().__init__(
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            final_lr=final_lr,
            gamma=gamma,
            bias_correction=bool(bias_correction),
        )

    def _hypers(self, t):
        return *super()._hypers(t, self.info["bias_correction"]), *self._bounds(t)


class Adamax(Solver):
    """AdaMax: u = max(beta2 * u, |g|); w -= alpha / (1 - beta1 ** t) * m / (u + eps)."""

    _rule = "adamax"
    _states = ("m", "u")

    def __init__(self, alpha=2e-3, beta1=0.9, beta2=0.999, eps=1e-8):
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps)

    def _hypers(self, t):
        beta1 = self.info["beta1"]
        return self._lr / (1 - beta1**t), beta1, 1 - beta1, self.info["beta2"], self.info["eps"]


class AdaBelief(Solver):
    """AdaBelief: `Adam` with the gradient's deviation from its mean in place of the gradient in var.

    wd: the default decay where weight_decouple, which fuses the decay into the update; it is taken times
    alpha unless fixed_decay. amsgrad: divides by the largest var so far. rectify: RAdam's correction, with
    plain momentum in the first steps.
    """

    _states = ("mean", "var")

    def __init__(
        self,
        alpha=1e-3,
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        wd=0.0,
        amsgrad=False,
        weight_decouple=False,
        fixed_decay=False,
        rectify=False,
    ):
        super().__init__(
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            wd=wd,
            amsgrad=bool(amsgrad),
            weight_decouple=bool(weight_decouple),
            fixed_decay=bool(fixed_decay),
            rectify=bool(rectify),
        )
        if amsgrad:
            self._states = ("mean", "var", "s_max")
        self._fused = bool(weight_decouple)
        self._set_default_decay(wd)

    def _step(self, t, params, states):
        rate, plain = self._rate(t)
        beta1, beta2, eps = self.info["beta1"], self.info["beta2"], self.info["eps"]
        decay = 0.0
        if self._fused:
            decay = self._decay if self.info["fixed_decay"] else self._decay * self._lr
        rule = "adabelief" + "_amsgrad" * self.info["amsgrad"] + "_plain" * plain
        root = math.sqrt(1 - beta2**t)
        hypers = (beta1, 1 - beta1, beta2, 1 - beta2, rate, decay, eps, root)
        self._apply(rule, params, states, hypers)

    def _rate(self, t):
        beta1, beta2 = self.info["beta1"], self.info["beta2"]
        rate = self._lr / (1 - beta1**t)
        if not self.info["rectify"]:
            return rate, False
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2**t / (1 - beta2**t)
        if length <= 4:
            return self._lr, True
        variance = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        return rate * math.sqrt(variance), False


class Lamb(Solver):
    """LAMB: `Adam`'s direction r plus decay * w, scaled per parameter: w -= eta * |w| / |r| * r.

    |w| is clamped to [gamma_l, gamma_u]; where |r| is at most eps the factor is eta.
    """

    _states = ("mean", "var")
    _fused = True

    def __init__(self, eta=1e-3, beta1=0.9, beta2=0.999, gamma_l=0.0, gamma_u=10.0, eps=1e-6, bias_correction=False):
        super().__init__(
            eta=eta,
            beta1=beta1,
            beta2=beta2,
            gamma_l=gamma_l,
            gamma_u=gamma_u,
            eps=eps,
            bias_correction=bool(bias_correction),
        )

    def _step(self, t, params, states):
        info = self.info
        xs, gs = self._tensors(params, states)
        beta1, beta2, eps = info["beta1"], info["beta2"], info["eps"]
        corrections = (1 - beta1**t, 1 - beta2**t) if info["bias_correction"] else (1.0, 1.0)
        rs = [torch.empty_like(x) for x in xs]
        hypers = (beta1, 1 - beta1, beta2, 1 - beta2, *corrections, eps)
        _C.optim_step("lamb_direction", rs, gs, states, hypers)
        if self._decay:
            _C.optim_step("weight_decay", rs, xs, None, (self._decay,))
        low, high = info["gamma_l"], info["gamma_u"]
        norms = zip(_norms(xs), _norms(rs), strict=True)
        ratios = [min(max(w, low), high) / r if r > eps else 1.0 for w, r in norms]
        _C.optim_step("sgd", xs, rs, None, [(self._lr * ratio,) for ratio in ratios])


class Lion(Solver):
    """Lion: w -= lr * (sign(lerp(g, m, beta1)) + decay * w); m = lerp(g, m, beta2)."""

    _rule = "lion"
    _states = ("m",)
    _fused = True

    def __init__(self, lr=1e-4, beta1=0.9, beta2=0.99):
        super().__init__(lr=lr, beta1=beta1, beta2=beta2)

    def _hypers(self, t):
        return self._lr, self.info["beta1"], self.info["beta2"], self._decay


def _norms(tensors):
    # one transfer from the device for all of them
    return torch.stack(torch._foreach_norm(tensors)).tolist()
