"""Solvers, which update parameters from their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from compatgrad import _C

from ._documents import documented
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

_SHARED = """
Args:
    lr: the learning rate.
    alpha: the learning rate.
    eta: the learning rate.
    momentum: the factor of the previous step.
    decay: the weight of the old value when the running means are updated.
    beta1: the weight of the old value when the mean of the gradient is updated.
    beta2: the weight of the old value when the mean of its square is updated.
    eps: a number that is added to a divisor.
    wd: the weight decay of updates before which `weight_decay` is not called.
    coefficient: factor of the ratio of norms.
    final_lr: the rate to which the bounds converge.
    gamma: the speed at which the bounds converge.
    bias_correction: whether to correct the means for their start at zero.

Raises:
    TypeError: an argument is no number.
"""


def _documented(arguments: str, weight: str) -> Callable[[type[Solver]], type[Solver]]:
    """Completes the docstring of a solver; `weight` is the result of updating 1 with the gradient 0.5."""

    def complete(cls: type[Solver]) -> type[Solver]:
        example = f"""
    >>> w = nn.Variable.from_numpy_array(np.array([1.0]), need_grad=True)
    >>> w.g = 0.5
    >>> solver = S.{cls.__name__}({arguments})
    >>> solver.set_parameters({{"w": w}})
    >>> solver.update()
    >>> w.d
    array([{weight}], dtype=float32)"""
        return documented(_SHARED, source="nnabla.solvers", all_have=(), more={"Example": example})(cls)

    return complete


@_documented("lr=0.1", "0.95")
class Sgd(Solver):
    """Stochastic gradient descent: w -= lr * g."""

    _rule = "sgd"

    def __init__(self, lr: float = 1e-3) -> None:
        super().__init__(lr=lr)

    def _hypers(self, t):
        return (self._lr,)


@_documented("lr=0.1", "0.95")
class Momentum(Solver):
    """Gradient descent with momentum (Polyak, 1964): m = momentum * m + lr * g; w -= m."""

    _rule = "momentum"
    _states = ("m",)

    def __init__(self, lr: float = 1e-3, momentum: float = 0.9) -> None:
        super().__init__(lr=lr, momentum=momentum)

    def _hypers(self, t):
        return self._lr, self.info["momentum"], 0.0


@_documented("lr=0.1, wd=0.01", "0.94")
class SgdW(Momentum):
    """`Momentum` with decoupled weight decay (Loshchilov and Hutter, 2017): w is also decreased by lr / (first lr) * wd
    * w."""

    _fused = True

    def __init__(self, lr: float = 1e-3, momentum: float = 0.9, wd: float = 1e-4) -> None:
        Solver.__init__(self, lr=lr, momentum=momentum, wd=wd)
        self._set_default_decay(wd)

    def _hypers(self, t):
        return self._lr, self.info["momentum"], self._relative_rate() * self._decay


@_documented("lr=0.1", "0.905")
class Nesterov(Solver):
    """Nesterov's gradient (1983): v = momentum * m - lr * g; w += (1 + momentum) * v - momentum * m; m = v."""

    _rule = "nesterov"
    _states = ("m",)

    def __init__(self, lr: float = 1e-3, momentum: float = 0.9) -> None:
        super().__init__(lr=lr, momentum=momentum)

    def _hypers(self, t):
        momentum = self.info["momentum"]
        return self._lr, momentum, 1 + momentum


@_documented("lr=0.1", "0.9999")
class Lars(Solver):
    """Layer-wise adaptive rate scaling: `Momentum` of g + decay * w with a rate for each parameter (You et al., 2017).

    The rate is lr * coefficient * |w| / (|g| + decay * |w|), or lr where |w| is below `eps`. `update` changes the
    gradients, too. It raises RuntimeError if a norm is NaN or the decay makes the rate negative.
    """

    _states = ("v",)
    _fused = True

    def __init__(self, lr: float = 1e-3, momentum: float = 0.9, coefficient: float = 0.001, eps: float = 1e-6) -> None:
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


@_documented("lr=0.1", "0.9")
class Adagrad(Solver):
    """AdaGrad (Duchi et al., 2011): v += g ** 2; w -= lr * g / (sqrt(v) + eps)."""

    _rule = "ada_grad"
    _states = ("v",)

    def __init__(self, lr: float = 1e-2, eps: float = 1e-8) -> None:
        super().__init__(lr=lr, eps=eps)

    def _hypers(self, t):
        return self._lr, self.info["eps"]


@_documented("lr=0.1", "0.9995528")
class Adadelta(Solver):
    """AdaDelta (Zeiler, 2012): w -= lr * d, d = sqrt((E[d ** 2] + eps) / (E[g ** 2] + eps)) * g.

    E is a running mean.
    """

    _rule = "ada_delta_scaled"
    _states = ("e_sqr_grad", "e_sqr_delta")

    def __init__(self, lr: float = 1.0, decay: float = 0.95, eps: float = 1e-6) -> None:
        super().__init__(lr=lr, decay=decay, eps=eps)

    def _hypers(self, t):
        decay = self.info["decay"]
        return decay, 1 - decay, self.info["eps"], self._lr


@_documented("lr=0.1", "0.6837723")
class RMSprop(Solver):
    """RMSprop (Tieleman and Hinton, 2012): v = decay * v + (1 - decay) * g ** 2; w -= lr * g / (sqrt(v) + eps)."""

    _rule = "rmsprop"
    _states = ("v",)

    def __init__(self, lr: float = 1e-3, decay: float = 0.9, eps: float = 1e-8) -> None:
        super().__init__(lr=lr, decay=decay, eps=eps)

    def _hypers(self, t):
        decay = self.info["decay"]
        return self._lr, decay, 1 - decay, self.info["eps"]


@_documented("lr=0.1", "0.54308844")
class RMSpropGraves(Solver):
    """RMSprop with momentum (Graves, 2013): d = momentum * d - lr * g / sqrt(n - mean ** 2 + eps); w += d.

    n and mean are the running means of the gradient's square and of the gradient.
    """

    _rule = "rmsprop_graves"
    _states = ("n", "g", "d")

    def __init__(self, lr: float = 1e-4, decay: float = 0.95, momentum: float = 0.9, eps: float = 1e-4) -> None:
        super().__init__(lr=lr, decay=decay, momentum=momentum, eps=eps)

    def _hypers(self, t):
        decay = self.info["decay"]
        return self._lr, decay, 1 - decay, self.info["momentum"], self.info["eps"]


class _Adam(Solver):
    # Base class of Adam and its variants.
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


@_documented("alpha=0.1", "0.90000004")
class Adam(_Adam):
    """Adam (Kingma and Ba, 2014).

    w -= alpha * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * mean / (sqrt(var) + eps).
    """

    def __init__(self, alpha: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps)


@_documented("alpha=0.1, wd=0.01", "0.89000005")
class AdamW(_Adam):
    """`Adam` with decoupled weight decay (Loshchilov and Hutter, 2017): w is also decreased by alpha / (first alpha) *
    wd * w."""

    _fused = True

    def __init__(
        self, alpha: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, wd: float = 1e-4
    ) -> None:
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, wd=wd)
        self._set_default_decay(wd)

    def _hypers(self, t):
        return super()._hypers(t, decay=self._relative_rate() * self._decay)


@_documented("alpha=0.1", "0.90000004")
class AdaBound(_Adam):
    """`Adam` whose rates are limited by bounds that converge to a final rate (Luo et al., 2019)."""

    _rule = "adabound"

    def __init__(
        self,
        alpha: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        final_lr: float = 0.1,
        gamma: float = 0.001,
    ) -> None:
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, final_lr=final_lr, gamma=gamma)

    def _hypers(self, t):
        return *super()._hypers(t), *self._bounds(t)


@_documented("alpha=0.1", "0.6837703")
class AMSGRAD(_Adam):
    """`Adam` that divides by the largest var so far (Reddi et al., 2018)."""

    _rule = "amsgrad"
    _states = ("m", "v", "v_hat")

    def __init__(
        self,
        alpha: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        bias_correction: bool = False,
    ) -> None:
        corrected = bool(bias_correction)
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, bias_correction=corrected)

    def _hypers(self, t):
        return super()._hypers(t, self.info["bias_correction"])


@_documented("alpha=0.1", "0.6837703")
class AMSBound(_Adam):
    """`AMSGRAD` with the bounds of `AdaBound` (Luo et al., 2019).

    The upper bound is the paper's; nnabla's grows with t because of a misplaced parenthesis.
    """

    _rule = "amsbound"
    _states = ("m", "v", "v_hat")

    def __init__(
        self,
        alpha: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        final_lr: float = 0.1,
        gamma: float = 0.001,
        bias_correction: bool = False,
    ) -> None:
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


@_documented("alpha=0.1", "0.9")
class Adamax(Solver):
    """AdaMax (Kingma and Ba, 2014): u = max(beta2 * u, |g|); w -= alpha / (1 - beta1 ** t) * m / (u + eps)."""

    _rule = "adamax"
    _states = ("m", "u")

    def __init__(self, alpha: float = 2e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        super().__init__(alpha=alpha, beta1=beta1, beta2=beta2, eps=eps)

    def _hypers(self, t):
        beta1 = self.info["beta1"]
        return self._lr / (1 - beta1**t), beta1, 1 - beta1, self.info["beta2"], self.info["eps"]


@_documented("alpha=0.1", "0.88889164")
class AdaBelief(Solver):
    """`Adam` whose var is that of the gradient around its mean (Zhuang et al., 2020).

    Args:
        wd: with `weight_decouple` the weight decay of updates before which `weight_decay` is not called.
        amsgrad: whether to divide by the largest var so far.
        weight_decouple: whether the decay is part of the update instead of being added to the gradient.
        fixed_decay: whether the decay is not multiplied by alpha.
        rectify: whether to correct rates as RAdam does, with plain momentum in the first updates.
    """

    _states = ("mean", "var")

    def __init__(
        self,
        alpha: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        wd: float = 0.0,
        amsgrad: bool = False,
        weight_decouple: bool = False,
        fixed_decay: bool = False,
        rectify: bool = False,
    ) -> None:
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


@_documented("eta=0.1", "0.9")
class Lamb(Solver):
    """The direction of `Adam`, scaled for each parameter: w -= eta * |w| / |r| * r, where r is this direction plus
    decay * w.

    You et al., 2019. |w| is limited to gamma_l ... gamma_u; where |r| is at most `eps`, the factor is eta.

    Args:
        gamma_l, gamma_u: the limits of |w|.
    """

    _states = ("mean", "var")
    _fused = True

    def __init__(
        self,
        eta: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        gamma_l: float = 0.0,
        gamma_u: float = 10.0,
        eps: float = 1e-6,
        bias_correction: bool = False,
    ) -> None:
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


@_documented("lr=0.1", "0.9")
class Lion(Solver):
    """Lion (Chen et al., 2023): w -= lr * (sign(lerp(g, m, beta1)) + decay * w); m = lerp(g, m, beta2)."""

    _rule = "lion"
    _states = ("m",)
    _fused = True

    def __init__(self, lr: float = 1e-4, beta1: float = 0.9, beta2: float = 0.99) -> None:
        super().__init__(lr=lr, beta1=beta1, beta2=beta2)

    def _hypers(self, t):
        return self._lr, self.info["beta1"], self.info["beta2"], self._decay


def _norms(tensors):
    # one transfer from the device for all norms
    return torch.stack(torch._foreach_norm(tensors)).tolist()
