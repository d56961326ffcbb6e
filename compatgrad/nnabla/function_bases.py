"""The functions by the snake-case names of their types, below the wrappers of `nnabla.functions`."""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla import functions as functions  # declares them
from compatgrad.nnabla._declare import call, specs

_by_name = {spec.name.lstrip("_"): spec for spec in specs.values()}


def __getattr__(name: str) -> Any:
    spec = _by_name.get(name)
    if spec is None:
        raise AttributeError(f"nnabla.function_bases has no function '{name}'")

    def function(*inputs: Any, n_outputs: int = -1, outputs: Any = None, **args: Any) -> Any:
        count = len(inputs) if spec.variadic else len(spec.inputs)
        rest = dict(zip(spec.args, inputs[count:], strict=False)) | args
        defaults = {p.name: p.default for p in spec.parameters}
        given = [*inputs[:count], *[None] * (count - len(inputs))]
        return call(spec, given, [rest.get(a, defaults[a]) for a in spec.args], n_outputs, outputs)

    function.__name__ = name
    function.__doc__ = spec.body.__doc__
    return function
