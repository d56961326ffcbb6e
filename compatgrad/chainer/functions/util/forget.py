"""Gradient checkpointing: backward computes intermediate results again instead of storing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer import configuration, function, function_node
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray

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
    documented = "forget"

    def __init__(self, func: Callable[..., Variable | tuple[Variable, ...]]) -> None:
        if not callable(func):
            raise TypeError("func must be callable")
        self.func = func

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        self.retain_inputs(range(len(inputs)))
        with function.no_backprop_mode(), configuration.using_config("_will_recompute", True):
            ys = _call(self.func, [Variable(x) for x in inputs])
        return tuple([y.array for y in ys])

    def backward(
        self, indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable | None, ...]:
        if configuration.config.enable_backprop:
            raise RuntimeError("double backpropagation in functions.forget is not allowed.")
        xs = [Variable(x.array) for x in self.get_retained_inputs()]
        with function.force_backprop_mode(), configuration.using_config("in_recomputing", True):
            ys = _call(self.func, xs)
        assert len(ys) == len(grad_outputs)
        pairs = [(y, gy) for y, gy in zip(ys, grad_outputs, strict=True) if gy is not None]
        _C.backward(frontend, [y for y, _ in pairs], [gy for _, gy in pairs])
        return tuple([x.grad_var for x in xs])


def forget(
    func: Callable[..., Variable | tuple[Variable, ...]], *xs: VariableOrArray
) -> Variable | tuple[Variable, ...]:
    """Returns `func(*xs)` without keeping intermediate results: `backward` calls `func` again, which saves memory and
    takes time.

    Args:
        func: function of Variables that returns a Variable or a tuple of them. It is called twice and must compute the
            same.
        *xs: Variables, or arrays, which become Variables that require a gradient.

    Returns:
        The result of `func`.

    Raises:
        TypeError: `func` is not callable.
        RuntimeError: `func` returns something else, or the result is differentiated twice.

    Example:
        >>> x = chainer.Variable(np.array([1.0, 2.0]))
        >>> F.forget(lambda x: F.sum(F.exp(x) * x), x).backward()
        >>> x.grad
        array([ 5.43656366, 22.1671683 ])

    Source: `chainer.functions.forget` of Chainer 7.8.1; Chen et al. 2016.
    """
    ys = Forget(func).apply(tuple([x if isinstance(x, Variable) else Variable(x) for x in xs]))
    return ys[0] if len(ys) == 1 else ys
