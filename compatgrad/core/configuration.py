"""Modes of the current thread: recording of operations, debug checks, type checks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from compatgrad import _C

__all__ = ["force_backprop_mode", "no_backprop_mode", "scope", "using_debug", "using_mode", "using_modes"]


Settings = tuple[dict[str, Any], tuple[tuple[Any, str, Any], ...], Any]


class scope(_C.Scope, ContextDecorator):
    """A `with` block, or a decorator, that sets modes of this thread and attributes of objects.

    Entering and leaving are one call of the compiled module each, so that Ctrl-C at any point leaves no setting behind.

    Args:
        settings: called on entry; returns a dict of modes as for `using_modes`, a tuple of triples (object, name,
            value), and the value for `as`.

    Raises:
        ValueError: on entry, a mode does not exist.
        TypeError: `settings` is neither a dict nor callable.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.core.configuration import scope
        >>> place = SimpleNamespace(level=0)
        >>> with scope(lambda: ({}, ((place, "level", 1),), "inside")) as said:
        ...     print(said, place.level)
        inside 1
        >>> place.level
        0

    Source: `compatgrad/core/configuration.py`, `csrc/python/scopes.cpp`.
    """

    def __init__(self, settings: Callable[[], Settings] | dict[str, Any]) -> None:
        super().__init__(settings)
        self._told = settings

    def _recreate_cm(self) -> scope:
        return scope(self._told)  # a decorated function may run in two threads at once


class using_modes(scope):
    """A `with` block, or a decorator, in which modes of this thread are set; they are restored even after an exception.

    Args:
        **modes: values of the engine's modes, named as in `using_mode`: a bool, or None for the process-wide default.

    Raises:
        ValueError: on entry, a mode does not exist.

    Example:
        >>> from compatgrad.core.configuration import using_modes
        >>> with using_modes(enable_backprop=True, train=False):
        ...     pass

    Source: `compatgrad/core/configuration.py`.
    """

    def __init__(self, **modes: bool | None) -> None:
        super().__init__(modes)


def using_mode(name: str, value: bool | None) -> using_modes:
    """A `with` block, or a decorator, in which one mode of this thread is set.

    Args:
        name: "enable_backprop", "debug", "type_check", "lazy_grad_sum", "train", "recording", "training", or one of the
            modes of nnabla's graphs, "deferred", "auto_forward" and "plain".
        value: a bool, or None for the process-wide default.

    Returns:
        The context manager.

    Raises:
        ValueError: on entry, the mode does not exist.

    Example:
        >>> from compatgrad.core import using_mode
        >>> with using_mode("train", False):
        ...     pass

    Source: `compatgrad/core/configuration.py`, `csrc/core/mode.h`.
    """
    return using_modes(**{name: value})


def no_backprop_mode() -> using_modes:
    """A `with` block, or a decorator, in which this thread records nothing: results have no creator.

    Returns:
        The context manager.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.ones(2))
        >>> with compatgrad.no_backprop_mode():
        ...     y = x * 2
        >>> y.creator is None
        True

    Source: `compatgrad/core/configuration.py`.
    """
    return using_mode("enable_backprop", False)


def force_backprop_mode() -> using_modes:
    """A `with` block, or a decorator, in which this thread records, also inside a `no_backprop_mode`.

    Returns:
        The context manager.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> x = compatgrad.Variable(torch.ones(2))
        >>> with compatgrad.no_backprop_mode(), compatgrad.force_backprop_mode():
        ...     y = x * 2
        >>> y.creator is None
        False

    Source: `compatgrad/core/configuration.py`.
    """
    return using_mode("enable_backprop", True)


def using_debug(value: bool = True) -> using_modes:
    """A `with` block, or a decorator, in which this thread checks for NaN and checks the results of user-defined
    backwards. Inside, a NaN in a result or a gradient raises RuntimeError with the function's name, and a backward that
    returns anything but Variables of its inputs' shapes raises ValueError.

    Args:
        value: False switches the checks off inside a block that has them on.

    Returns:
        The context manager.

    Raises:
        TypeError: more than one argument is given.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core import using_debug
        >>> with using_debug():
        ...     compatgrad.ops.log(compatgrad.Variable(torch.tensor([-1.0])))
        Traceback (most recent call last):
          ...
        RuntimeError: NaN is detected on forward computation of log

    Source: `compatgrad/core/configuration.py`.
    """
    return using_mode("debug", value)
