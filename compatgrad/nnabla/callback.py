"""Hooks around every function of every pass, and around solvers' updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compatgrad.nnabla.logger import logger

__all__ = [
    "set_function_post_hook",
    "set_function_pre_hook",
    "set_solver_post_hook",
    "set_solver_pre_hook",
    "unset_function_post_hook",
    "unset_function_pre_hook",
    "unset_solver_post_hook",
    "unset_solver_pre_hook",
]

_pre: dict[str, Callable[[Any], Any]] = {}
_post: dict[str, Callable[[Any], Any]] = {}
_done: dict[str, Callable[[Any], Any]] = {}
solver_pre_hooks: dict[str, Callable[[], Any]] = {}
solver_post_hooks: dict[str, Callable[[], Any]] = {}


def set_function_pre_hook(key: str, function_pre_hook: Callable[[Any], Any]) -> None:
    """Calls a hook with each function, before it runs, in every forward and backward pass.

    Args:
        key: name of the hook, by which it can be removed; a hook of the same name is replaced.
        function_pre_hook: called with the function; its result is ignored, and an error in it ends the pass.

    Raises:
        TypeError: `key` is not hashable, such as a list. A hook that is not callable raises an error in the next pass.

    Example:
        >>> nn.set_function_pre_hook("names", lambda f: print(f.info.type_name))
        >>> F.exp(F.relu(nn.Variable((2, 3)))).forward()
        ReLU
        Exp
        >>> nn.unset_function_pre_hook("names")

    Source: `nnabla.callback.set_function_pre_hook` of nnabla 1.39.0.
    """
    _pre[key] = function_pre_hook


def set_function_post_hook(key: str, function_post_hook: Callable[[Any], Any]) -> None:
    """Calls a hook with each function, after it has run, in every forward and backward pass.

    Args:
        key: name of the hook, by which it can be removed; a hook of the same name is replaced.
        function_post_hook: called with the function; its result is ignored, and an error in it ends the pass.

    Raises:
        TypeError: `key` is not hashable, such as a list. A hook that is not callable raises an error in the next pass.

    Example:
        >>> nn.set_function_post_hook("names", lambda f: print(f.info.type_name))
        >>> F.exp(F.relu(nn.Variable((2, 3)))).forward()
        ReLU
        Exp
        >>> nn.unset_function_post_hook("names")

    Source: `nnabla.callback.set_function_post_hook` of nnabla 1.39.0.
    """
    _post[key] = function_post_hook


def unset_function_pre_hook(key: str) -> None:
    """Removes the hook that `set_function_pre_hook` has set.

    Args:
        key: the name of the hook; it is no error if there is no such hook.

    Raises:
        TypeError: there are hooks, and `key` is not hashable.

    Example:
        >>> nn.set_function_pre_hook("names", lambda f: print(f.info.type_name))
        >>> nn.unset_function_pre_hook("names")
        >>> F.relu(nn.Variable((2, 3))).forward()

    Source: `nnabla.callback.unset_function_pre_hook` of nnabla 1.39.0.
    """
    _pre.pop(key, None)


def unset_function_post_hook(key: str) -> None:
    """Removes the hook that `set_function_post_hook` has set.

    Args:
        key: the name of the hook; it is no error if there is no such hook.

    Raises:
        TypeError: there are hooks, and `key` is not hashable.

    Example:
        >>> nn.set_function_post_hook("names", lambda f: print(f.info.type_name))
        >>> nn.unset_function_post_hook("names")
        >>> F.relu(nn.Variable((2, 3))).forward()

    Source: `nnabla.callback.unset_function_post_hook` of nnabla 1.39.0.
    """
    _post.pop(key, None)


def set_function_done_hook(key: str, func: Callable[[Any], Any]) -> None:
    """Calls a hook when a function's step of a pass has ended and the arrays that the function no longer needs have
    been freed.

    Args:
        key: name of the hook, by which it can be removed; a hook of the same name is replaced.
        func: is called with the function.

    Raises:
        TypeError: `key` is not hashable, such as a list.

    Example:
        >>> from compatgrad.nnabla import callback
        >>> callback.set_function_done_hook("names", lambda f: print(f.info.type_name))
        >>> F.relu(nn.Variable((2, 3))).forward()
        ReLU
        >>> callback.unset_function_done_hook("names")

    Source: compatgrad's own.
    """
    _done[key] = func


def unset_function_done_hook(key: str) -> None:
    """Removes the hook that `set_function_done_hook` has set.

    Args:
        key: the name of the hook; it is no error if there is no such hook.

    Raises:
        TypeError: there are hooks, and `key` is not hashable.

    Example:
        >>> from compatgrad.nnabla import callback
        >>> callback.unset_function_done_hook("names")

    Source: compatgrad's own.
    """
    _done.pop(key, None)


def set_solver_pre_hook(key: str, solver_pre_hook: Callable[[], Any]) -> None:
    """Calls a hook before a solver processes a parameter. It is called in `update`, `weight_decay`,
    `clip_grad_by_norm`, `scale_grad` and the checks, once for each parameter.

    Args:
        key: name of the hook, by which it can be removed; a hook of the same name is replaced.
        solver_pre_hook: is called without arguments; None sets no hook.

    Raises:
        TypeError: `key` is not hashable, such as a list.

    Example:
        >>> w = nn.Variable((2,), need_grad=True)
        >>> solver = S.Sgd(lr=0.1)
        >>> solver.set_parameters({"w": w})
        >>> nn.set_solver_pre_hook("told", lambda: print("one parameter"))
        >>> solver.update()
        one parameter
        >>> nn.unset_solver_pre_hook("told")

    Source: `nnabla.set_solver_pre_hook` of nnabla 1.39.0.
    """
    if solver_pre_hook is not None:
        solver_pre_hooks[key] = solver_pre_hook


def set_solver_post_hook(key: str, solver_post_hook: Callable[[], Any]) -> None:
    """Calls a hook right after the pre-hooks, that is also before a solver processes a parameter, as in nnabla.

    It is called in `update`, `weight_decay`, `clip_grad_by_norm`, `scale_grad` and the checks, once for each parameter.

    Args:
        key: name of the hook, by which it can be removed; a hook of the same name is replaced.
        solver_post_hook: is called without arguments; None sets no hook.

    Raises:
        TypeError: `key` is not hashable, such as a list.

    Example:
        >>> w = nn.Variable((2,), need_grad=True)
        >>> solver = S.Sgd(lr=0.1)
        >>> solver.set_parameters({"w": w})
        >>> nn.set_solver_post_hook("told", lambda: print("one parameter"))
        >>> solver.update()
        one parameter
        >>> nn.unset_solver_post_hook("told")

    Source: `nnabla.set_solver_post_hook` of nnabla 1.39.0.
    """
    if solver_post_hook is not None:
        solver_post_hooks[key] = solver_post_hook


def unset_solver_pre_hook(key: str) -> None:
    """Removes the hook that `set_solver_pre_hook` has set.

    Args:
        key: the name of the hook; if there is no such hook, a message is logged.

    Raises:
        TypeError: there are hooks, and `key` is not hashable.

    Example:
        >>> nn.set_solver_pre_hook("told", lambda: print("one parameter"))
        >>> nn.unset_solver_pre_hook("told")

    Source: `nnabla.unset_solver_pre_hook` of nnabla 1.39.0.
    """
    _unset(solver_pre_hooks, key)


def unset_solver_post_hook(key: str) -> None:
    """Removes the hook that `set_solver_post_hook` has set.

    Args:
        key: the name of the hook; if there is no such hook, a message is logged.

    Raises:
        TypeError: there are hooks, and `key` is not hashable.

    Example:
        >>> nn.set_solver_post_hook("told", lambda: print("one parameter"))
        >>> nn.unset_solver_post_hook("told")

    Source: `nnabla.unset_solver_post_hook` of nnabla 1.39.0.
    """
    _unset(solver_post_hooks, key)


def _unset(hooks: dict[str, Any], key: str) -> None:
    if hooks.pop(key, None) is None:
        logger.warning("There is no solver hook %r.", key)


def _combined(hooks: list[Callable[[Any], Any]]) -> Any:
    if len(hooks) < 2:
        return hooks[0] if hooks else None

    def call(f: Any) -> None:
        for hook in hooks:
            hook(f)

    return call


def before(own: Any) -> Any:
    """Combines the global hooks that run before a function with that of a pass, which is called last.

    Args:
        own: the hook of the pass, which takes a function; None for none.

    Returns:
        A function to call with each function of the graph, or None if no hooks are registered.

    Raises:
        TypeError: when the result is called: a hook is not callable.

    Example:
        >>> from compatgrad.nnabla import callback
        >>> calls = []
        >>> callback.set_function_pre_hook("all", lambda f: calls.append("all"))
        >>> callback.before(lambda f: calls.append("own"))(None)
        >>> calls
        ['all', 'own']
        >>> callback.unset_function_pre_hook("all")

    Source: compatgrad's own.
    """
    return own if not _pre else _combined([*_pre.values(), *([own] if own else [])])


def after(own: Any) -> Any:
    """Combines the hook of a pass, which is called first, with the global ones that run after a function.

    Args:
        own: the hook of the pass, which takes a function; None for none.

    Returns:
        A function to call with each function of the graph, or None if no hooks are registered.

    Raises:
        TypeError: when the result is called: a hook is not callable.

    Example:
        >>> from compatgrad.nnabla import callback
        >>> calls = []
        >>> callback.set_function_post_hook("all", lambda f: calls.append("all"))
        >>> callback.after(lambda f: calls.append("own"))(None)
        >>> calls
        ['own', 'all']
        >>> callback.unset_function_post_hook("all")

    Source: compatgrad's own.
    """
    return own if not _post else _combined([*([own] if own else []), *_post.values()])


def done(own: Any = None) -> Any:
    """Combines the hook of a pass, which is called first, with the global ones for the end of a function's step.

    Args:
        own: the hook of the pass, which takes a function; None for none.

    Returns:
        A function to call with each function of the graph, or None if no hooks are registered.

    Raises:
        TypeError: when the result is called: a hook is not callable.

    Example:
        >>> from compatgrad.nnabla import callback
        >>> calls = []
        >>> callback.set_function_done_hook("all", lambda f: calls.append("all"))
        >>> callback.done(lambda f: calls.append("own"))(None)
        >>> calls
        ['own', 'all']
        >>> callback.unset_function_done_hook("all")

    Source: compatgrad's own.
    """
    return own if not _done else _combined([*([own] if own else []), *_done.values()])
