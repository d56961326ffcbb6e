"""Copies of static graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad import _C
from compatgrad.nnabla.parameter import get_parameters
from compatgrad.nnabla.variable import Variable


def copy_graph(y: Variable, leaf: Callable[[Variable], Variable]) -> Variable:
    """A graph like that of `y` whose leaves are what `leaf` makes of the old ones."""
    if y.parent is None:
        return leaf(y)
    made: dict[int, Any] = {}
    keep = []
    for f in y._functions():
        if _C.function_info(f) is None and not f.inputs:  # what enters from another frontend is as a leaf
            keep += f.outputs
            made.update((id(x), x) for x in f.outputs)
            continue
        inputs = []
        for x in f.inputs:
            if id(x) not in made:
                keep.append(x)
                made[id(x)] = leaf(x)
            inputs.append(made[id(x)])
        result = f(*inputs)
        for old, new in zip(f.outputs, result if isinstance(result, tuple) else (result,), strict=True):
            keep.append(old)
            made[id(old)] = new
    return made[id(y)]


def no_grad(self: Variable) -> Variable:
    """The same network with need_grad=False on all parameters, as a new Variable. Other leaves are shared."""
    parameters = {p.data for p in get_parameters(grad_only=False).values()}
    return copy_graph(self, lambda v: v.get_unlinked_variable(need_grad=False) if v.data in parameters else v)
