"""The decorator behind every parametric function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..parameter import parameter_scope

_Description = tuple[str, str, str, bool]


def parametric_function_api(
    scope_name: str | None = None, param_desc: Sequence[_Description] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function that gets parameters, so that it finds them in a scope of its own.

    The function runs in the parameter scope `scope_name` (by default its own name). It gains an argument
    `name`, by default None, which puts that scope below another one. `param_desc` lists its parameters for
    the docstring: (name, meaning, shape, need_grad). Raises ValueError for a function without an argument
    `fix_parameters`.
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        scope = func.__name__ if scope_name is None else scope_name
        signature = inspect.signature(func)
        if "fix_parameters" not in signature.parameters:
            raise ValueError(
                f"parametric_function_api: {func.__name__}{signature} must have an argument `fix_parameters`"
            )
        parameters = list(signature.parameters.values())
        position = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        parameters.insert(position, inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None))

        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            name = kwargs.pop("name", None)
            if len(args) > position:
                name, args = args[position], args[:position] + args[position + 1 :]
            if name is None:
                with parameter_scope(scope):
                    return func(*args, **kwargs)
            with parameter_scope(name), parameter_scope(scope):
                return func(*args, **kwargs)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__doc__ = _documented(func.__doc__, scope, param_desc)
        run.__parametric_function_api_base__ = func  # type: ignore[attr-defined]
        run.__scope_name__ = scope  # type: ignore[attr-defined]
        return run

    return decorate


def _documented(doc: str | None, scope: str, param_desc: Sequence[_Description] | None) -> str:
    doc = inspect.cleandoc(doc) if doc else ""
    if param_desc:
        doc += f"\n\nParameters in the scope ``{scope}``:\n\n"
        doc += "\n".join(f"* {n} (need_grad={grad}): {what}, of shape ``{s}``" for n, what, s, grad in param_desc)
    return doc + f"\n\nWith `name` the scope is ``<name>/{scope}``."
