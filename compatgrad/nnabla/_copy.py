"""Copies of static graphs."""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla.variable import Variable


def copy_graph(y: Variable, need_grad: bool | None = None) -> Variable:
    """A graph like that of `y` on the same leaves' arrays. need_grad: what all leaves of the copy have."""
    if y.parent is None:
        return y.get_unlinked_variable(need_grad)
    made: dict[int, Any] = {}
    keep = []
    for f in y._functions():
        inputs = []
        for x in f.inputs:
            if id(x) not in made:
                keep.append(x)
                made[id(x)] = x.get_unlinked_variable(x.need_grad if need_grad is None else need_grad)
            inputs.append(made[id(x)])
        result = f(*inputs)
        for old, new in zip(f.outputs, result if isinstance(result, tuple) else (result,), strict=True):
            keep.append(old)
            made[id(old)] = new
    return made[id(y)]
