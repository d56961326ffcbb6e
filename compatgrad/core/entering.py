"""Conversion of other frontends' Variables when they enter a frontend's Python code.

Ops accept Variables of all frontends. Functions written in Python may check the type, dtype or array of their arguments
in the terms of their own framework, so Variables of other frontends are converted first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from types import FunctionType
from typing import Any

from compatgrad import _C
from compatgrad.core.crossing import to

__all__ = ["entered", "let_in", "open_functions", "opened"]


def let_in(name: str, deferred: bool = True) -> Callable[[Any], Any]:
    """Makes the function that converts arguments to a frontend, for the attribute `enter` of its `_C.Frontend`.

    Args:
        name: the name of the frontend, as for `interop.to`.
        deferred: whether it also converts Variables of graphs that run later; these graphs run at the conversion.

    Returns:
        A function that converts a Variable to the frontend, converts the items of a list or tuple, and returns anything
        else unchanged.

    Raises:
        Nothing.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core.entering import let_in
        >>> [x] = let_in("chainer")([compatgrad.Variable(torch.ones(2))])
        >>> type(x).__module__.removeprefix("compatgrad."), x.array
        ('chainer.variable', array([1., 1.], dtype=float32))

    Source: `compatgrad/core/entering.py`.
    """

    def enter(value: Any) -> Any:
        if isinstance(value, _C.Variable):
            return to(name, value) if deferred or not isinstance(value, _C.DeferredVariable) else value
        if type(value) in (list, tuple):
            return type(value)(map(enter, value))
        return value

    return enter


def entered(
    frontend: _C.Frontend, arguments: tuple[Any, ...], enter: Callable[[Any], Any] | None = None
) -> tuple[Any, ...]:
    """The arguments of a call, with other frontends' Variables converted to the frontend.

    Args:
        frontend: the frontend's `_C.Frontend`, which has an `enter`.
        arguments: the arguments.
        enter: the function that converts an argument; None is that of the frontend.

    Returns:
        The arguments; the same tuple if there is nothing to convert.

    Raises:
        ValueError: a Variable of another frontend has no value.

    Example:
        >>> from compatgrad import _C
        >>> from compatgrad.core.entering import entered
        >>> entered(_C.native_frontend, (1, None))
        (1, None)

    Source: `compatgrad/core/entering.py`.
    """
    if not _C.foreign(frontend, arguments):
        return arguments
    change = frontend.enter if enter is None else enter
    assert change is not None, frontend.name
    return tuple([change(x) for x in arguments])


_opened: dict[FunctionType, _C.Op] = {}  # a function with several names is one object


def opened(frontend: _C.Frontend, f: FunctionType) -> Any:
    """Wraps a Python function so that it gets only Variables of the frontend; others are converted first.

    Args:
        frontend: the frontend's `_C.Frontend`.
        f: the function.

    Returns:
        A callable with its name, signature, docstring and attributes.

    Raises:
        AttributeError: `f` is not a function.

    Example:
        >>> from compatgrad import _C
        >>> from compatgrad.core.entering import opened
        >>> def f(x): return x
        >>> opened(_C.native_frontend, f)(3)
        3

    Source: `compatgrad/core/entering.py`, `csrc/python/bound.cpp`.
    """
    bound = _opened.get(f)
    if bound is None:
        bound = _opened[f] = frontend.bind(None, f, name=f.__name__, doc=f.__doc__, module=f.__module__)
        vars(bound).update(vars(f), __wrapped__=f)  # for inspect.getsource and doctest
    return bound


def open_functions(frontend: _C.Frontend, names: dict[str, Any], closed: Collection[Any] = ()) -> None:
    """Wraps the Python functions of a package so that they get only Variables of their own frontend. The compiled
    module checks the arguments, in some nanoseconds, and calls `frontend.enter` if one belongs to another frontend.

    Args:
        frontend: the frontend's `_C.Frontend`.
        names: the namespace of the package, `globals()`; functions are replaced there and in the modules that define
            them.
        closed: functions that are not wrapped.

    Raises:
        KeyError: `names` has no `__name__`.

    Example:
        >>> from compatgrad import _C
        >>> from compatgrad.core.entering import open_functions
        >>> def f(x): return x
        >>> names = {"__name__": f.__module__, "f": f}
        >>> open_functions(_C.native_frontend, names)
        >>> names["f"](3)
        3

    Source: `compatgrad/core/entering.py`.
    """
    known: list[tuple[str, FunctionType]] = [(n, f) for n, f in names.items() if isinstance(f, FunctionType)]
    home, shown = names["__name__"], names.get("__all__")
    for name, f in known:
        if name.startswith("_") or f in closed:
            continue
        own = f"{f.__module__}.".startswith(f"{home}.") or name in (shown or ())
        if not own and f not in _opened:
            continue  # a helper that the module has imported
        names[name] = bound = opened(frontend, f)
        defines = sys.modules.get(f.__module__)
        if getattr(defines, f.__name__, None) is f:  # pickle looks the function up there
            setattr(defines, f.__name__, bound)
