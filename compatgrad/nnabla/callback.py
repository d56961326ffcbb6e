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


def set_solver_pre_hook(key: str, solver_pre_hook: Callable[[], Any]) -> None:
    """Has `solver_pre_hook()` called before a solver treats a parameter; `key` (str) names it, for unsetting.

    It is called in `update`, `weight_decay`, `clip_grad_by_norm`, `scale_grad` and the checks, once for each.
    """
    if solver_pre_hook is not None:
        solver_pre_hooks[key] = solver_pre_hook


def set_solver_post_hook(key: str, solver_post_hook: Callable[[], Any]) -> None:
    """Has `solver_post_hook()` called right after the pre-hooks: before a solver treats a parameter, as in nnabla.

    `key` (str) names it, for unsetting.
    """
    if solver_post_hook is not None:
        solver_post_hooks[key] = solver_post_hook


def unset_solver_pre_hook(key: str) -> None:
    """Removes the hook that was set as `key`; where there is none, the log says so."""
    _unset(solver_pre_hooks, key)


def unset_solver_post_hook(key: str) -> None:
    """Removes the hook that was set as `key`; where there is none, the log says so."""
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
    """One callable for the global hooks and then a call's own, or None."""
    return own if not _pre else _combined([*_pre.values(), *([own] if own else [])])


def after(own: Any) -> Any:
    """One callable for a call's own hook and then the global ones, or None."""
    return own if not _post else _combined([*([own] if own else []), *_post.values()])


def done(own: Any = None) -> Any:
    """One callable for what is called when a function's step is over, or None."""
    return own if not _done else _combined([*([own] if own else []), *_done.values()])
