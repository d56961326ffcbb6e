"""The base of hooks whose arithmetic is a compiled loop over all parameters at once."""

from compatgrad import _C

_stock_calls = {}  # classes of hooks that the call which updates can run as well: how they are called


def stock(hook_class):
    """Lets GradientMethod run instances of exactly this class together with the update, by their `_step`."""
    _stock_calls[hook_class] = hook_class.__call__
    return hook_class


def is_stock_class(hook_class):
    """Whether that holds for the class, and nobody replaced its `__call__`."""
    return _stock_calls.get(hook_class) is hook_class.__call__


def is_stock(hook):
    """The same for a hook, whose own attributes must be its numbers."""
    return is_stock_class(type(hook)) and hook.__dict__.keys().isdisjoint(("_apply", "_step", "call_for_each_param"))


class GradientHook:
    """Called for each parameter, `hook(rule, param)`, or by the optimizer once with all of them,
    `hook._apply(params)`.

    Parameters without data or gradient are skipped.
    """

    call_for_each_param = True
    timing = "pre"

    def __call__(self, rule, param):
        self._apply((param,))

    def _step(self, loss_scale):
        """Name and constants of the rule that changes gradients of this loss scale (None: 1)."""
        raise NotImplementedError

    def _apply(self, params):
        self._change(params, None)

    def _change(self, params, loss_scale):
        name, *constants = self._step(loss_scale)
        _C.optim_change_grads(name, params, tuple(constants))
