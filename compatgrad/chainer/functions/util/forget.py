"""Functions that are computed again instead of stored."""

from compatgrad import _C
from compatgrad.chainer import configuration, function, function_node
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.variable import Variable

_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def _call(func, xs):
    ys = func(*xs)
    if isinstance(ys, Variable):
        return (ys,)
    if not isinstance(ys, tuple):
        raise RuntimeError(f"A tuple of Variables or a Variable are expected, but {type(ys)} is returned.")
    for n, y in enumerate(ys, 1):
        if not isinstance(y, Variable):
            suffix = _SUFFIXES.get(n if n < 20 else n % 10, "th")
            raise RuntimeError(f"{n}{suffix} element of a returned tuple is not Variable, but is {type(y)}")
    return ys


class Forget(function_node.FunctionNode):
    def __init__(self, func):
        if not callable(func):
            raise TypeError("func must be callable")
        self.func = func

    def forward(self, inputs):
        self.retain_inputs(range(len(inputs)))
        with function.no_backprop_mode(), configuration.using_config("_will_recompute", True):
            ys = _call(self.func, [Variable(x) for x in inputs])
        return tuple([y.array for y in ys])

    def backward(self, indexes, grad_outputs):
        if configuration.config.enable_backprop:
            raise RuntimeError("double backpropagation in functions.forget is not allowed.")
        xs = [Variable(x.array) for x in self.get_retained_inputs()]
        with function.force_backprop_mode(), configuration.using_config("in_recomputing", True):
            ys = _call(self.func, xs)
        assert len(ys) == len(grad_outputs)
        pairs = [(y, gy) for y, gy in zip(ys, grad_outputs, strict=True) if gy is not None]
        _C.backward(frontend, [y for y, _ in pairs], [gy for _, gy in pairs])
        return tuple([x.grad_var for x in xs])


def forget(func, *xs):
    """`func(*xs)` without the results in between: `backward` calls `func` again; saves memory, takes time.

    `func` takes Variables and returns one or a tuple of them (RuntimeError otherwise); called twice, it must
    compute the same. Arrays among `xs` become Variables that require a gradient. It can be differentiated
    once only.
    """
    ys = Forget(func).apply(tuple([x if isinstance(x, Variable) else Variable(x) for x in xs]))
    return ys[0] if len(ys) == 1 else ys
