"""The decorator of parametric functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from compatgrad import _C
from compatgrad.core.entering import entered

from .. import parameter as _parameter
from .._documents import merged
from .._frontend import fe

_Description = tuple[str, str, str, bool]

# The shared sections of the docstrings of this package's functions.
_COMMON = """
Args:
    fix_parameters: whether the parameters need no gradient.
    w_init: initializer of the weights, or an array; None: UniformInitializer with Glorot's limits.
    b_init: initializer of the bias, or an array; None: zeros.
    param_init: a dict of initializers or arrays by the names of parameters.
    rng: the generator of the default initializers; None: that of `nnabla.random`.
    with_bias: whether there is a bias.
    apply_w: a function that is applied to the weights before they are used.
    apply_b: a function that is applied to the bias before it is used.
    name: name of a scope around the function's own scope; None: the current scope.

Raises:
    RuntimeError: the shapes do not fit.
    TypeError: an input is neither a Variable nor an NdArray, or a size is no integer.
    ValueError: an input does not have a given axis, or a parameter exists with another shape.
"""


def layer(
    scope_name: str, parameters: Sequence[_Description], *shared: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`parametric_function_api` for the functions of this package, whose docstrings are completed by the sections
    `shared`."""
    return lambda func: _made(func, scope_name, parameters, shared)


def parametric_function_api(
    scope_name: str | None = None, param_desc: Sequence[_Description] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator for a function that gets or makes parameters: it runs in its own parameter scope. The decorated
    function has an additional argument `name`, default None: the name of a scope around its own scope.

    Args:
        scope_name: the name of the function's parameter scope; None: the function's name.
        param_desc: the function's parameters, which are listed in its docstring: (name, meaning, shape, need_grad).

    Returns:
        The decorator.

    Raises:
        ValueError: a decorated function has no argument `fix_parameters`.

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

    foreign, call_layer = _C.foreign, _C.call_layer

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= position:
            result = call_layer(fe, _parameter, scope, func, args, kwargs)
            if result is not NotImplemented:
                return result
        name = kwargs.pop("name", None)
        # Convert Variables of other frameworks only once: each conversion runs their functions.
        if foreign(fe, args):
            args = entered(fe, args)
        if kwargs and foreign(fe, values := tuple(kwargs.values())):
            kwargs = dict(zip(kwargs, entered(fe, values), strict=True))
        if len(args) > position:
            name, args = args[position], args[:position] + args[position + 1 :]
        outer = _parameter.current_scope
        inner = _parameter._inside(outer if name is None else _parameter._inside(outer, name), scope)
        # One call of the compiled module, so that Ctrl-C cannot leave the scope behind.
        return _C.call_within((_parameter, "current_scope", inner), func, args, kwargs)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    if shared is None:
        run.__doc__ = _with_parameters(func.__doc__, scope, described)
    elif func.__doc__:  # python -OO removes docstrings
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
