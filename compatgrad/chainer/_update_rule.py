"""Update rules: how one parameter is updated from its gradient, with its hyperparameters and hooks."""

from __future__ import annotations

import collections
import copy
import warnings
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer import variable
from compatgrad.chainer.backend import get_array_types, using_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer.serializer import AbstractSerializer


class _Hookable:
    def __init__(self, invalid_timing_fallback=False):
        self._pre_update_hooks = collections.OrderedDict()
        self._post_update_hooks = collections.OrderedDict()
        self._invalid_timing_fallback = invalid_timing_fallback

    def add_hook(self, hook, name, timing):
        if not callable(hook):
            raise TypeError(f"hook function must be callable. Actual: {type(hook).__name__}")
        if timing not in ("pre", "post", "auto"):
            raise ValueError(f"timing must be one of ('pre', 'post', 'auto'). Actual: {timing!r}")
        if timing == "auto":
            timing = getattr(hook, "timing", "pre")
            if timing not in ("pre", "post") and self._invalid_timing_fallback:
                warnings.warn("Hook timing attribute not in ('pre', 'post'), defaulting timing to 'pre'.", stacklevel=3)
                timing = "pre"
        if name is None:
            name = getattr(hook, "name", getattr(hook, "__name__", None))
            if name is None:
                raise ValueError(f"the name of the hook function is not specified, and {hook!r} has none")
        if name in self._pre_update_hooks or name in self._post_update_hooks:
            raise KeyError(f'hook "{name}" already exists')
        (self._pre_update_hooks if timing == "pre" else self._post_update_hooks)[name] = hook

    def remove_hook(self, name):
        if name in self._pre_update_hooks:
            del self._pre_update_hooks[name]
        else:
            del self._post_update_hooks[name]

    def hooks(self, timing):
        if timing == "pre":
            return self._pre_update_hooks
        if timing == "post":
            return self._post_update_hooks
        raise ValueError(f"timing must be either 'pre' or 'post'. Actual: {timing!r}")

    def call_hooks(self, timing, args):
        for hook in self.hooks(timing).values():
            self.call_hook(hook, args)

    def call_hook(self, hook, args):
        hook(*args)


class Hyperparameter:
    """A set of hyperparameters, as attributes; one that is not set here is looked up in the parent.

    Args:
        parent: Hyperparameter in which missing attributes are looked up; None for none.

    Example:
        >>> defaults = chainer.optimizer.Hyperparameter()
        >>> defaults.lr = 0.1
        >>> own = chainer.optimizer.Hyperparameter(defaults)
        >>> own.momentum = 0.9
        >>> own.lr, own
        (0.1, Hyperparameter(lr=0.1, momentum=0.9))

    Source: `chainer.optimizer.Hyperparameter` of Chainer 7.8.1.
    """

    def __init__(self, parent: Hyperparameter | None = None) -> None:
        self._parent = parent

    def __getattr__(self, name):
        if "_parent" not in self.__dict__:
            raise AttributeError("_parent is not set up yet")  # while it is copied or unpickled
        return getattr(self._parent, name)

    def __repr__(self):
        values = ", ".join(f"{name}={value}" for name, value in sorted(self.get_dict().items()))
        return f"Hyperparameter({values})"

    @property
    def parent(self):
        """The set in which attributes that are missing here are looked up, or None."""
        return self._parent

    def get_dict(self) -> dict[str, Any]:
        """All values, the parent's included."""
        d = {} if self._parent is None else self._parent.get_dict()
        d.update(self.__dict__)
        del d["_parent"]
        return d


def _run_on(device, update, param):
    if device.xp is numpy:
        update(param)
    else:
        with using_device(device):
            update(param)


class UpdateRule:
    """How one parameter is updated: the parameter's attribute `update_rule`.

    A subclass defines `update_core_cpu` and `update_core_gpu`, or `update_core`, and `init_state` where it keeps arrays
    from step to step in `self.state`.

    Args:
        parent_hyperparam: Hyperparameter in which attributes are looked up that the rule's own set lacks; None for
            none.

    Example:
        >>> class SignRule(chainer.UpdateRule):
        ...     def update_core(self, param):
        ...         param.array -= self.hyperparam.lr * np.sign(param.grad)
        >>> rule = SignRule()
        >>> rule.hyperparam.lr = 0.5
        >>> p = chainer.Parameter(np.array([1.0, 2.0]))
        >>> p.update_rule, p.grad = rule, np.array([3.0, -4.0])
        >>> p.update()
        >>> p.array
        array([0.5, 2.5])

    Source: `chainer.UpdateRule` of Chainer 7.8.1.
    """

    is_elementwise = False

    def __init__(self, parent_hyperparam: Hyperparameter | None = None) -> None:
        self._state = None
        self.enabled = True
        self.hyperparam = Hyperparameter(parent_hyperparam)
        self.t = 0
        self._use_fp32_update = False
        self._fp32_param = None
        self._hookable = _Hookable()
        self._plain = True  # neither a hook nor an fp32 copy: `update` need not look for them

    @property
    def state(self):
        """Arrays and other values by name that live from step to step, or None before the first update."""
        return self._state

    def add_hook(self, hook: Callable[..., Any], name: str | None = None, timing: str = "auto") -> None:
        """Calls `hook(rule, param)` before ("pre") or after ("post") the update of this parameter."""
        self._hookable.add_hook(hook, name, timing)
        self._plain = False

    def remove_hook(self, name: str) -> None:
        """Removes the hook of that name. Raises KeyError if there is none."""
        self._hookable.remove_hook(name)

    def update(self, param: variable.Parameter) -> None:
        """Updates `param`, unless the rule is disabled."""
        if not self.enabled:
            return
        self.t += 1
        _run_on(param.device, self.__update, param)

    def __update(self, param):
        target, initialized = param, param.tensor is not None
        converts = self._use_fp32_update and _dtype_or_none(param) == numpy.float16
        if converts:
            if self._fp32_param is None:
                self._fp32_param = _fp32_copy(param)
            target = self._fp32_param
            if initialized:
                target.grad = param.grad.astype(numpy.float32)
        if initialized:
            self._init_states(target)
            if param._loss_scale is not None:
                target.grad /= param._loss_scale
        self._hookable.call_hooks("pre", (self, target))
        self.update_core(target)
        self._hookable.call_hooks("post", (self, target))
        if converts:
            if initialized:
                param.array = target.array.astype(param.dtype)
            target.grad = None

    def update_core(self, param: variable.Parameter) -> None:
        """Updates the array of `param`: `update_core_cpu` or `update_core_gpu`."""
        device = param.device
        _run_on(device, self.update_core_cpu if device.xp is numpy else self.update_core_gpu, param)

    def update_core_cpu(self, param: variable.Parameter) -> None:
        """Updates a parameter whose arrays are NumPy's. To be overridden."""
        raise NotImplementedError

    def update_core_gpu(self, param: variable.Parameter) -> None:
        """Updates a parameter whose arrays are CuPy's. To be overridden."""
        raise NotImplementedError

    def update_core_chainerx(self, param: variable.Parameter) -> None:
        """Raises RuntimeError: ChainerX is not supported."""
        raise RuntimeError("ChainerX is not available: UpdateRule.update_core_chainerx")

    def init_state(self, param: variable.Parameter) -> None:
        """Puts the arrays that the rule needs into `self.state`. To be overridden."""

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads `t` and the state. Names that are missing raise KeyError, unless the rule is
        disabled."""
        self.t = serializer("t", self.t)
        if self.state is not None:
            for key in self._state:
                self._state[key] = serializer(key, self._state[key])
        elif isinstance(serializer, serializer_module.Deserializer):
            self._load_state(serializer)

    def _load_state(self, serializer):
        # The names to load are those that init_state makes for a dummy parameter; a copy of the rule keeps this rule
        # unchanged.
        self._state = {}
        array = numpy.empty(1, dtype=numpy.float32)
        copy.copy(self).init_state(variable.Variable(array, grad=array))
        for key in self._state:
            try:
                value = serializer(key, None)
            except KeyError:
                if self.enabled:
                    raise
                value = None
            if value is None:
                self._state = None  # the next update initializes it
                break
            self._state[key] = value

    def _init_states(self, param):
        device = param.device
        with using_device(device):
            if self._state is None:
                self._state = {}
                self.init_state(param)
            state = self._state
            for name, value in state.items():
                if isinstance(value, get_array_types()):
                    state[name] = device.send(value)

    def use_fp32_update(self, flag: bool = True) -> None:
        """Updates a float16 parameter through a float32 copy, which the rule keeps."""
        self._use_fp32_update = flag
        self._plain = False


def _dtype_or_none(param):
    try:
        return param.dtype
    except RuntimeError:
        return None  # uninitialized, and the dtype is not determined


def _never(array):
    raise AssertionError("the fp32 copy of an uninitialized parameter is never initialized")


_never.dtype = numpy.dtype(numpy.float32)


def _fp32_copy(param):
    if param.tensor is None:
        return variable.Parameter(_never, name=param.name)
    return variable.Parameter(param.array.astype(numpy.float32), name=param.name)


class HyperparameterProxy:
    """A descriptor for optimizer classes: an attribute that reads and sets the one of the same name in `hyperparam`.

    Args:
        attr_name: name of the number.

    Example:
        >>> class Sign(chainer.GradientMethod):
        ...     lr = chainer.optimizer.HyperparameterProxy("lr")
        >>> optimizer = Sign()
        >>> optimizer.lr = 0.5
        >>> optimizer.hyperparam
        Hyperparameter(lr=0.5)

    Source: `chainer.optimizer.HyperparameterProxy` of Chainer 7.8.1.
    """

    def __init__(self, attr_name: str) -> None:
        self._attr_name = attr_name
        self.__doc__ = f"Alias to ``self.hyperparam.{attr_name}``"

    def __get__(self, obj, type=None):
        if obj is None:
            return self
        return getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj, value):
        setattr(obj.hyperparam, self._attr_name, value)
