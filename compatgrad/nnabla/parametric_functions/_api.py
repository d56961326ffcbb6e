"""The decorator behind every parametric function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from compatgrad.core.entering import entered

from .._documents import merged
from .._frontend import fe
from ..parameter import parameter_scope

_Description = tuple[str, str, str, bool]

# What the parametric functions of this package say alike in their docstrings.
_COMMON = """
Args:
    fix_parameters: whether the parameters get no gradient.
    w_init: what weights start from, an initializer or an array; None: the uniform initializer by Glorot's limits.
    b_init: what the bias starts from, an initializer or an array; None: zeros.
    param_init: what parameters start from, initializers or arrays by their names.
    rng: the generator for the default of the first values; None: the one of `nnabla.random`.
    with_bias: whether there is a bias.
    apply_w: a function that gives from the weights what is computed with.
    apply_b: a function that gives from the bias what is computed with.
    name: a scope that the function's own scope lies in; None: the current one.

Raises:
    RuntimeError: the shapes do not fit.
    TypeError: an input is neither a Variable nor an NdArray, or a size is no integer.
    ValueError: an input does not have an axis that is named, or a parameter is there already with another shape.
"""


def layer(
    scope_name: str, parameters: Sequence[_Description], *shared: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`parametric_function_api` of the functions of this package: their docstrings have the sections `shared`, too."""
    return lambda func: _made(func, scope_name, parameters, shared)


def parametric_function_api(
    scope_name: str | None = None, param_desc: Sequence[_Description] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a function that gets parameters, so that it finds them in a scope of its own.

    The function gains an argument `name`, by default None: a scope that its own scope lies in.

    Args:
        scope_name: the parameter scope that the function runs in; None: its own name.
        param_desc: the function's parameters, which its docstring then lists: (name, meaning, shape, need_grad).

    Returns:
        The decorator.

    Raises:
        ValueError: a function to decorate has no argument `fix_parameters`.

    Example:
        >>> @PF.parametric_function_api("scaled", [("s", "the scale", "()", True)])
        ... def scaled(x, fix_parameters=False):
        ...     return x * nn.parameter.get_parameter_or_create("s", (1,), np.ones(1), True, not fix_parameters)
        >>> y = scaled(nn.Variable((3,)), name="first")
        >>> list(nn.get_parameters())
        ['first/scaled/s']

    Source: `nnabla.parametric_functions.parametric_function_api` of nnabla 1.39.0.
    """
    return lambda func: _made(func, func.__name__ if scope_name is None else scope_name, param_desc, None)


def _made(
    func: Callable[..., Any], scope: str, described: Sequence[_Description] | None, shared: tuple[str, ...] | None
) -> Callable[..., Any]:
    signature = inspect.signature(func)
    if "fix_parameters" not in signature.parameters:
        raise ValueError(f"parametric_function_api: {func.__name__}{signature} must have an argument `fix_parameters`")
    parameters = list(signature.parameters.values())
    position = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    parameters.insert(
        position,
        inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="str | None"),
    )

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        name = kwargs.pop("name", None)
        args = entered(fe, args)  # once: each crossing of a Variable runs its function
        if kwargs:
            kwargs = dict(zip(kwargs, entered(fe, tuple(kwargs.values())), strict=True))
        if len(args) > position:
            name, args = args[position], args[:position] + args[position + 1 :]
        if name is None:
            with parameter_scope(scope):
                return func(*args, **kwargs)
        with parameter_scope(name), parameter_scope(scope):
            return func(*args, **kwargs)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    if shared is None:
        run.__doc__ = _with_parameters(func.__doc__, scope, described)
    elif func.__doc__:  # there is none where Python runs with -OO
        listed = "".join(f"\n    * `{n}`: {what}, {s}" + ", not learned" * (not g) for n, what, s, g in described or ())
        note = {"Note": f"\n    Parameters in the scope `{scope}`:\n{listed}"}
        names = [p.name for p in parameters]
        source = f"nnabla.parametric_functions.{func.__name__}"
        run.__doc__ = merged(func.__doc__, (*shared, _COMMON), names, source, note)
    run.__parametric_function_api_base__ = func  # type: ignore[attr-defined]
    run.__scope_name__ = scope  # type: ignore[attr-defined]
    return run


def _with_parameters(doc: str | None, scope: str, described: Sequence[_Description] | None) -> str:
    doc = inspect.cleandoc(doc) if doc else ""
    if described:
        doc += f"\n\nParameters in the scope ``{scope}``:\n\n"
        doc += "\n".join(f"* {n} (need_grad={grad}): {what}, of shape ``{s}``" for n, what, s, grad in described)
    return doc + f"\n\nWith `name` the scope is ``<name>/{scope}``."
