"""Functions that are one node in the graph, but are computed by other functions."""

from __future__ import annotations

from compatgrad import _C
from compatgrad.chainer import function_node, variable
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.math.identity import identity
from compatgrad.core.configuration import force_backprop_mode, no_backprop_mode


def unobserved(run):
    """Returns `run()`, whose functions the thread's function hooks do not see: hooks see one function. There is no
    `with` block here, because Ctrl-C in an `__exit__` written in Python would lose the hooks.
    """
    hooks = _C.function_hooks()
    kept = dict(hooks)
    try:
        hooks.clear()
        return run()
    finally:
        hooks.update(kept)


class ComposedFunction(function_node.FunctionNode):
    """A subclass defines `compose(*inputs)`, which calls differentiable functions on Variables and returns a Variable
    or a tuple of them. Forward retains the inputs alone: backward calls `compose` again and differentiates it, so the
    function can be differentiated as often as the functions that it calls.
    """

    def compose(self, *inputs):
        """Computes the function of `inputs`, which are Variables; returns a Variable or a tuple of them."""
        raise NotImplementedError(f"{type(self).__name__}.compose")

    def forward(self, inputs):
        self.retain_inputs(range(len(inputs)))
        with no_backprop_mode():
            y = unobserved(lambda: self.compose(*[variable.Variable(x, requires_grad=False) for x in inputs]))
        return tuple([v.array for v in y]) if isinstance(y, tuple) else (y.array,)

    def backward(self, target_input_indexes, grad_outputs):
        return unobserved(lambda: self._differentiated(target_input_indexes, grad_outputs))

    def _differentiated(self, target_input_indexes, grad_outputs):
        again = _C.get_mode("enable_backprop")
        with force_backprop_mode():
            # One node per input: a Variable that is given twice gets two gradients, which the caller adds.
            xs = [identity(x) if x.dtype.kind == "f" else x for x in self.get_retained_inputs()]
            y = self.compose(*xs)
        targets = [xs[i] for i in target_input_indexes]
        none = [None] * len(targets)
        ys = list(y) if isinstance(y, tuple) else [y]
        return tuple(_C.grad(frontend, ys, targets, list(grad_outputs), none, False, None, again))


class CallableFunction(ComposedFunction):
    """An old-style `Function` of the original: an instance is called, not applied. Inputs may be None."""

    def __call__(self, *inputs):
        self._absent = [x is None for x in inputs]
        y = self.apply([x for x in inputs if x is not None])
        return y if len(y) > 1 else y[0]

    def all_inputs(self, given):
        """The inputs of the call: `given`, the inputs of `compose`, with None in the places where the caller gave
        None."""
        given = iter(given)
        return [None if absent else next(given) for absent in self._absent]


def check_reduce(reduce, *known):
    """Raises ValueError unless `reduce` is one of `known`."""
    if reduce not in known:
        names = " and ".join([", ".join(map(repr, known[:-1])), repr(known[-1])])
        raise ValueError(f"only {names} are valid for 'reduce', but '{reduce}' is given")
