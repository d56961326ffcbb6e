"""The base class of hooks that are computed by a compiled loop over all parameters at once."""

from compatgrad import _C

_stock_calls = {}  # hook classes that the compiled update can run itself, and their own `__call__`


def stock(hook_class):
    """Class decorator: GradientMethod may run instances of exactly this class together with the update, as their
    `_step` says."""
    _stock_calls[hook_class] = hook_class.__call__
    return hook_class


def is_stock_class(hook_class):
    """Whether the class is decorated with `stock` and its `__call__` has not been replaced."""
    return _stock_calls.get(hook_class) is hook_class.__call__


def is_stock(hook):
    """Whether the class of a hook is stock and the instance has not replaced a method."""
    return is_stock_class(type(hook)) and hook.__dict__.keys().isdisjoint(("_apply", "_step", "call_for_each_param"))


class GradientHook:
    """Base class: a hook is called as `hook(rule, param)` for each parameter, or the optimizer calls
    `hook._apply(params)` once for all.

    Parameters without data or gradient are skipped.
    """

    call_for_each_param = True
    timing = "pre"

    def __call__(self, rule, param):
        self._apply((param,))

    def _step(self, loss_scale):
        """Name and constants of the compiled loop that changes gradients with this loss scale (None: 1)."""
        raise NotImplementedError

    def _apply(self, params):
        self._change(params, None)

    def _change(self, params, loss_scale):
        name, *constants = self._step(loss_scale)
        _C.optim_change_grads(name, params, tuple(constants))
