"""Optimizer and GradientMethod: they update the parameters of a link from their gradients."""

from __future__ import annotations

import collections  # noqa: F401  programs find it here, as in Chainer
import copy  # noqa: F401  programs find it here, as in Chainer
import math
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy  # noqa: F401  programs find it here, as in Chainer

from compatgrad import _C
from compatgrad.chainer import link as link_module
from compatgrad.chainer import optimizer_hooks, variable
from compatgrad.chainer import serializer as serializer_module  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainer._update_rule import Hyperparameter, HyperparameterProxy, UpdateRule, _Hookable
from compatgrad.chainer.backend import using_device
from compatgrad.chainer.optimizer_hooks import _gradient_hook
from compatgrad.core import foreign, notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer.serializer import AbstractSerializer

for _known in (Hyperparameter, HyperparameterProxy, UpdateRule):
    _known.__module__ = __name__  # the module from which programs import them
del _known

_Self = TypeVar("_Self", bound="Optimizer")
_stock_update = variable.Parameter.update
# Classes of rules that GradientMethod runs for many parameters in one call, with the number of attributes of a new
# instance: an instance with more may have a replaced method.
_compiled_rules = {}


def _shares_call(param, shared):
    """Whether the rule of `param` is compiled, unchanged by the program, and takes all hyperparameters from
    `shared`."""
    rule = param.update_rule
    n_attributes = _compiled_rules.get(type(rule))
    if n_attributes is None:
        return False
    d = rule.__dict__
    hyperparam = d["hyperparam"]
    return (
        d["_plain"]
        and len(d) == n_attributes
        and hyperparam._parent is shared
        and len(hyperparam.__dict__) == 1
        and param.tensor is not None
        and type(param).update is _stock_update
    )


class _OptimizerHookable(_Hookable):
    def __init__(self, optimizer):
        super().__init__(invalid_timing_fallback=True)
        self.optimizer = optimizer

    def call_hook(self, hook, args):
        self.optimizer.call_hook(hook)


class Optimizer:
    """Base class of optimizers: the target link, the counts `t` of updates and `epoch`, hooks and loss scaling. A
    subclass defines `update`.

    Example:
        >>> class Halve(chainer.Optimizer):
        ...     def update(self, lossfun=None, *args, **kwds):
        ...         for param in self.target.params():
        ...             param.array /= 2
        >>> layer = L.Linear(2, 1, initialW=1)
        >>> Halve().setup(layer).update()
        >>> layer.W.array
        array([[0.5, 0.5]], dtype=float32)

    Source: `chainer.Optimizer` of Chainer 7.8.1.
    """

    target = None
    t = 0
    epoch = 0
    _loss_scale = None
    _loss_scale_max = 65504  # the largest finite float16
    _loss_scaling_is_dynamic = False
    use_auto_new_epoch = False
    _hookable = None

    def setup(self: _Self, link: link_module.Link) -> _Self:
        """Makes `link` the target, resets the counts, removes all hooks, and returns itself. Raises TypeError if `link`
        is not a Link."""
        if not isinstance(link, link_module.Link):
            kind = type(link).__name__ + foreign.advice(link, "chainer")
            raise TypeError(f"optimization target must be a link. Actual: {kind}")
        self.target = link
        self.t = 0
        self.epoch = 0
        self._hookable = _OptimizerHookable(self)
        return self

    def update(self, lossfun: Callable[..., variable.Variable] | None = None, *args: Any, **kwds: Any) -> None:
        """Updates the parameters. To be overridden."""
        raise NotImplementedError

    def new_epoch(self, auto: bool = False) -> None:
        """Counts an epoch. Raises RuntimeError if both the updater, which calls with `auto`, and the program would
        count epochs, or neither."""
        if auto and not self.use_auto_new_epoch:
            raise RuntimeError(
                "invalid new_epoch call with auto=True.\nFix the updater to set optimizer.use_auto_new_epoch = True."
            )
        if not auto and self.use_auto_new_epoch:
            raise RuntimeError(
                "duplicated new_epoch with the updater.\n"
                "Pass auto_new_epoch=False to the updater or stop calling new_epoch outside the updater."
            )
        self.epoch += 1

    def _check_set_up(self):
        if self._hookable is None:
            raise RuntimeError("Optimizer is not set up. Call `setup` method.")

    def add_hook(self, hook: Callable[..., Any], name: str | None = None, timing: str = "auto") -> None:
        """Calls `hook(optimizer)`, or `hook(rule, param)` for each parameter, before or after each update. Raises
        RuntimeError before `setup`, TypeError if the hook is not callable, ValueError for an unknown timing or a
        missing name, and KeyError for a name in use.
        """
        self._check_set_up()
        self._hookable.add_hook(hook, name, timing)

    def remove_hook(self, name: str) -> None:
        """Removes the hook of that name. Raises KeyError if there is none."""
        self._check_set_up()
        self._hookable.remove_hook(name)

    def call_hooks(self, timing: str = "pre") -> None:
        """Calls the hooks of a timing in the order in which they were added."""
        self._check_set_up()
        self._hookable.call_hooks(timing, ())

    def call_hook(self, hook: Callable[..., Any]) -> None:
        """Calls one hook, for each parameter if it has `call_for_each_param`."""
        if not getattr(hook, "call_for_each_param", False):
            hook(self)
        elif (
            isinstance(hook, _gradient_hook.GradientHook)
            and type(hook).__call__ is _gradient_hook.GradientHook.__call__
        ):
            hook._apply(all_params(self.target))
        else:
            for param in self.target.params():
                hook(param.update_rule, param)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the counts and the update rules of all parameters."""
        self.t = serializer("t", self.t)
        self.epoch = serializer("epoch", self.epoch)
        for name, param in self.target.namedparams():
            rule = getattr(param, "update_rule", None)
            if rule is not None:
                rule.serialize(serializer[name])

    def loss_scaling(self, interval: int = 1000, scale: float | None = None) -> None:
        """Multiplies the loss before backprop by `scale`; without `scale` by a factor that is adapted every `interval`
        steps. Raises ValueError for an interval below 1 or a scale that is not positive.
        """
        if scale is not None:
            if scale <= 0:
                raise ValueError(f"loss_scale must be a positive number. Actual: {scale}")
            self._loss_scale = scale
            return
        self._loss_scaling_is_dynamic = True
        if interval < 1:
            raise ValueError(f"interval must be greater than or equal to 1. Actual: {interval}")
        self._loss_scale = 1.0
        self._loss_scaling_multiplier = math.pow(2.0, 1.0 / interval)
        self._loss_scaling_isnan_ever = False

    def set_loss_scale(self, loss_scale: float) -> None:
        """Same as `loss_scaling(scale=loss_scale)`."""
        self.loss_scaling(scale=loss_scale)

    def check_nan_in_grads(self) -> None:
        """With dynamic loss scaling, checks the gradients and warns with a UserWarning if one is not finite."""
        self._loss_scaling_isnan = False
        if not self._loss_scaling_is_dynamic:
            return
        named = list(self.target.namedparams())
        for i in _C.optim_special([param for _, param in named], True, True):
            self._loss_scaling_isnan = True
            self._loss_scaling_isnan_ever = True
            warnings.warn(
                f"Non finite number found in param.grad of {named[i][0]} "
                f"(iteration: {self.t}, loss_scale: {self._loss_scale})",
                stacklevel=2,
            )

    def is_safe_to_update(self) -> bool:
        """Whether the last `check_nan_in_grads` found nothing."""
        return not self._loss_scaling_isnan

    def update_loss_scale(self) -> None:
        """Adapts the dynamic loss scale. It is halved after a gradient that was not finite. Without one it is doubled
        in each step until the first such gradient, and afterwards within `interval` steps."""
        if not self._loss_scaling_is_dynamic:
            return
        if self._loss_scaling_isnan:
            multiplier = 0.5
        elif self._loss_scaling_isnan_ever:
            multiplier = self._loss_scaling_multiplier
        else:
            multiplier = 2.0
        self._loss_scale = max(1, min(self._loss_scale_max, self._loss_scale * multiplier))


class GradientMethod(Optimizer):
    """Base class of optimizers with an update rule for each parameter, which a subclass makes in `create_update_rule`.

    Example:
        >>> class SignRule(chainer.UpdateRule):
        ...     def update_core(self, param):
        ...         param.array -= self.hyperparam.lr * np.sign(param.grad)
        >>> class Sign(chainer.GradientMethod):
        ...     def create_update_rule(self):
        ...         return SignRule(self.hyperparam)
        >>> layer = L.Linear(2, 1, initialW=1)
        >>> optimizer = Sign().setup(layer)
        >>> optimizer.hyperparam.lr = 0.5
        >>> optimizer.update(lambda x: F.sum(layer(x)), np.array([[3, -4]], np.float32))
        >>> layer.W.array
        array([[0.5, 1.5]], dtype=float32)

    Source: `chainer.GradientMethod` of Chainer 7.8.1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hyperparam = Hyperparameter()
        self._use_fp32_update = False

    def setup(self: _Self, link: link_module.Link) -> _Self:
        super().setup(link)
        for param in link.params():
            param.update_rule = self.create_update_rule()
            if self._use_fp32_update:
                param.update_rule.use_fp32_update()
        return self

    def reallocate_cleared_grads(self) -> list[variable.Parameter] | None:
        """Gives every initialized parameter without a gradient one of zeros."""
        params = all_params(self.target)
        for param in _C.optim_without_grad(params):
            with using_device(param.device):
                param.grad = param.xp.zeros_like(param.array)
        return params  # so that update() need not walk over the links again

    def call_hook(self, hook: Callable[..., Any]) -> None:
        super().call_hook(hook)
        self.reallocate_cleared_grads()

    def update(self, lossfun: Callable[..., variable.Variable] | None = None, *args: Any, **kwds: Any) -> None:
        """Updates the target's parameters with their gradients.

        With `lossfun`, the loss `lossfun(*args, **kwds)` is computed first, gradients are cleared, and the
        loss's `backward` is called.
        """
        if self.target is None:
            raise AttributeError(f"{type(self).__name__} has no target: call setup(link) before update()")
        if lossfun is not None:
            loss = lossfun(*args, **kwds)
            if getattr(self, "_use_cleargrads", True):
                self.target.cleargrads()
            else:
                self.target.zerograds()
            loss.backward(loss_scale=self._loss_scale)
            del loss
        params = self.reallocate_cleared_grads()
        self.check_nan_in_grads()
        if self._hookable.hooks("pre") and self._update_after_hooks(params):
            self.t += 1
        else:
            self.call_hooks("pre")
            if params is None or self._hookable.hooks("pre"):
                params = all_params(self.target)
            self.t += 1
            if self.is_safe_to_update() and not self._update_params(params):
                self.reallocate_cleared_grads()
        self.call_hooks("post")
        self.update_loss_scale()

    def _update_after_hooks(self, params):
        """Runs hooks and rules in one call and returns True. Does nothing and returns False where a program defines a
        hook or a rule of its own."""
        cls = type(self)
        if (
            params is None
            or not self.is_safe_to_update()
            or cls.call_hooks is not Optimizer.call_hooks
            or cls.call_hook is not GradientMethod.call_hook
            or not {"call_hook", "call_hooks"}.isdisjoint(self.__dict__)
        ):
            return False
        hooks = self._hookable.hooks("pre").values()
        if not all(map(_gradient_hook.is_stock, hooks)):
            return False
        shared, rules, first = self.hyperparam, set(), None
        for param in params:
            rule = param.update_rule
            if not _shares_call(param, shared) or not rule.enabled:
                return False
            found = type(rule), rule.t, param._loss_scale
            first = found if first is None else first
            if found != first:
                return False
            rules.add(id(rule))
        if len(rules) != len(params) or not params:
            return False
        kind, t, scale = first
        for param in params:
            param.update_rule.t = t + 1
        steps = [hook._step(scale) for hook in hooks]
        if scale is not None:
            steps.append(("unscale", scale))
        kind._update_all(params, shared, steps)
        return True

    def _update_params(self, params):
        """Runs the update rules in order; True if none ran code that could have cleared a gradient.

        Neighbouring parameters whose rules `_shares_call` accepts are updated in one call.
        """
        shared = self.hyperparam
        batch, kind, t, scale, plain = [], None, 0, None, True

        def update_batch():
            kind._update_all(batch, shared, () if scale is None else (("unscale", scale),))

        for param in params:
            if _shares_call(param, shared):
                rule = param.update_rule
                if not rule.enabled:
                    continue
                rule_class, rule_t = type(rule), rule.t + 1
                if batch and (rule_t != t or rule_class is not kind or param._loss_scale != scale):
                    update_batch()  # first, because this rule may be in the batch, and its t changes below
                    batch = []
                rule.t = rule_t
                batch.append(param)
                kind, t, scale = rule_class, rule_t, param._loss_scale
                continue
            if batch:
                update_batch()
                batch = []
            plain = False
            if notes.listener is not None:
                notes.listener("update", param.update_rule)
            param.update()
        if batch:
            update_batch()
        return plain

    def use_cleargrads(self, use: bool = True) -> None:
        """Deprecated: whether `update` clears gradients (or fills them with zeros)."""
        warnings.warn("GradientMethod.use_cleargrads is deprecated.", DeprecationWarning, stacklevel=2)
        self._use_cleargrads = use

    def create_update_rule(self) -> UpdateRule:
        """A new update rule. To be overridden."""
        raise NotImplementedError

    def use_fp32_update(self, flag: bool = True) -> None:
        """Makes float16 parameters be updated through float32 copies."""
        self._use_fp32_update = flag
        if self.target is not None:
            for param in self.target.params():
                param.update_rule.use_fp32_update()


_DEPRECATED = """Deprecated, with a DeprecationWarning: use `chainer.optimizer_hooks.{name}`.

Args:
    *args: the arguments of `chainer.optimizer_hooks.{name}`.
    **kwargs: the same by name.

Example:
    >>> issubclass(chainer.optimizer.{name}, chainer.optimizer_hooks.{name})
    True

Source: `chainer.optimizer.{name}` of Chainer 7.8.1.
"""


def _deprecated_hook(base):
    name = base.__name__

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"chainer.optimizer.{name} is deprecated from v4. Use chainer.optimizer_hooks.{name} instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        base.__init__(self, *args, **kwargs)

    doc = _DEPRECATED.format(name=name)
    hook_class = type(name, (base,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})
    return _gradient_hook.stock(hook_class) if _gradient_hook.is_stock_class(base) else hook_class


WeightDecay = _deprecated_hook(optimizer_hooks.WeightDecay)
Lasso = _deprecated_hook(optimizer_hooks.Lasso)
GradientClipping = _deprecated_hook(optimizer_hooks.GradientClipping)
GradientNoise = _deprecated_hook(optimizer_hooks.GradientNoise)
GradientHardClipping = _deprecated_hook(optimizer_hooks.GradientHardClipping)
