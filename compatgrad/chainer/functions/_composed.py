"""Functions that are one node in the graph and compute by other functions."""

from __future__ import annotations

from compatgrad import _C
from compatgrad.chainer import function_node, variable
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions.math.identity import identity
from compatgrad.core.configuration import force_backprop_mode, no_backprop_mode


class unobserved:  # noqa: N801
    """Hides what runs within from the thread's function hooks: the function is one to them."""

    __slots__ = ("_hooks",)

    def __enter__(self):
        hooks = _C.function_hooks()
        self._hooks = dict(hooks)
        hooks.clear()

    def __exit__(self, *_):
        _C.function_hooks().update(self._hooks)


class ComposedFunction(function_node.FunctionNode):
    """A subclass defines `compose(*inputs)`, on Variables, of differentiable functions; it gives one
    Variable.

    Of forward the inputs alone are kept: backward composes again and differentiates that, so the function can
    be differentiated as often as its parts.
    """

    def compose(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__}.compose")

    def forward(self, inputs):
        self.retain_inputs(range(len(inputs)))
        with unobserved(), no_backprop_mode():
            y = self.compose(*[variable.Variable(x, requires_grad=False) for x in inputs])
        return (y.array,)

    def backward(self, target_input_indexes, grad_outputs):
        again = _C.get_mode("enable_backprop")
        with unobserved():
            with force_backprop_mode():
                # One node per input: a Variable that is given twice has two gradients, which the caller adds.
                xs = [identity(x) if x.dtype.kind == "f" else x for x in self.get_retained_inputs()]
                y = self.compose(*xs)
            targets = [xs[i] for i in target_input_indexes]
            none = [None] * len(targets)
            return tuple(_C.grad(frontend, [y], targets, list(grad_outputs), none, False, None, again))


class CallableFunction(ComposedFunction):
    """An old-style `Function` of the original: an instance is called, not applied."""

    def __call__(self, *inputs):
        return self.apply(inputs)[0]


def check_reduce(reduce, *known):
    """ValueError unless `reduce` is one of `known`."""
    if reduce not in known:
        names = " and ".join([", ".join(map(repr, known[:-1])), repr(known[-1])])
        raise ValueError(f"only {names} are valid for 'reduce', but '{reduce}' is given")
