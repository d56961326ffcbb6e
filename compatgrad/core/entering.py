"""Variables of other frontends, where they enter a frontend's own code.

Functions that are ops take Variables of all frontends. What is written in Python asks its arguments for their type,
dtype or array, in the words of its own framework: there each Variable of another one changes its type first.
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
    """What gives an argument the type of a frontend, for the attribute `enter` of the engine's side of the frontend.

    Args:
        name: the frontend, as `interop.to` takes it.
        deferred: whether it changes Variables of graphs that run later, too. Those run when they are handed over.

    Returns:
        A function that gives a Variable of the frontend, in the place of the one it is given, a list or tuple of what
        it gives for the items, and anything else as it is.

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
    """The arguments of a call with Variables of the frontend in the places of others.

    Args:
        frontend: the engine's side of the frontend, which has an `enter`.
        arguments: the arguments.
        enter: what changes one; None is the frontend's own.

    Returns:
        The arguments, the same tuple where there is nothing to change.

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
    """A function of Python's that gets Variables of the frontend alone, others having changed their type.

    Args:
        frontend: the engine's side of the frontend.
        f: the function.

    Returns:
        A callable with its name, signature, docstring and attributes.

    Raises:
        AttributeError: `f` is no function.

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
    """Lets the functions of a package, as far as they are Python's, get Variables of their own frontend alone: the
    compiled module looks at the arguments, in some nanoseconds, and calls `frontend.enter` where one is another's.

    Args:
        frontend: the engine's side of the frontend.
        names: the namespace of the package, `globals()`; functions are replaced there and in the modules that define
            them.
        closed: functions that stay as they are.

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
            continue  # helpers that a module imports are no functions of its own
        names[name] = bound = opened(frontend, f)
        defines = sys.modules.get(f.__module__)
        if getattr(defines, f.__name__, None) is f:  # where a pickle looks it up
            setattr(defines, f.__name__, bound)
