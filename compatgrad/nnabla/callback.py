"""Hooks around every function of every pass, and around solvers' updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._solver import set_solver_post_hook, set_solver_pre_hook, unset_solver_post_hook, unset_solver_pre_hook

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


def set_function_pre_hook(key: str, function_pre_hook: Callable[[Any], Any]) -> None:
    """Calls the hook with each function, before it runs, in every forward and backward pass, under the name `key`."""
    _pre[key] = function_pre_hook


def set_function_post_hook(key: str, function_post_hook: Callable[[Any], Any]) -> None:
    """The same after each function."""
    _post[key] = function_post_hook


def unset_function_pre_hook(key: str) -> None:
    """Removes the hook named `key`, if there is one."""
    _pre.pop(key, None)


def unset_function_post_hook(key: str) -> None:
    """Removes the hook named `key`, if there is one."""
    _post.pop(key, None)


def set_function_done_hook(key: str, func: Callable[[Any], Any]) -> None:
    """Calls `func(function)` when a function's step of a pass is over and what it no longer needs is freed."""
    _done[key] = func


def unset_function_done_hook(key: str) -> None:
    """Removes the hook named `key`, if there is one."""
    _done.pop(key, None)


def _combined(hooks: list[Callable[[Any], Any]]) -> Any:
    if len(hooks) < 2:
        return hooks[0] if hooks else None

    def call(f: Any) -> None:
        for hook in hooks:
            hook(f)

    return call


def before(own: Any) -> Any:
    """One callable for the global hooks and then a call's own, or None."""
    return own if not _pre else _combined([*_pre.values(), *([own] if own else [])])


def after(own: Any) -> Any:
    """One callable for a call's own hook and then the global ones, or None."""
    return own if not _post else _combined([*([own] if own else []), *_post.values()])


def done(own: Any = None) -> Any:
    """One callable for what is called when a function's step is over, or None."""
    return own if not _done else _combined([*([own] if own else []), *_done.values()])
