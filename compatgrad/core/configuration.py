"""Modes of the running thread: whether operations are recorded, debug checks, type checks."""

from __future__ import annotations

from contextlib import ContextDecorator

from compatgrad import _C

__all__ = ["force_backprop_mode", "no_backprop_mode", "using_debug", "using_mode", "using_modes"]


class using_modes(ContextDecorator):
    """A `with` block, or a decorator, in which modes of this thread are set; they are restored also on an exception.

    Args:
        **modes: values by the names of the engine's modes, as of `using_mode`: a bool, or None for the process-wide
            default.

    Raises:
        ValueError: on entry, there is no mode of a name.

    Example:
        >>> from compatgrad.core.configuration import using_modes
        >>> with using_modes(enable_backprop=True, train=False):
        ...     pass

    Source: `compatgrad/core/configuration.py`.
    """

    def __init__(self, **modes: bool | None) -> None:
        self._modes = modes
        # a stack: one object may be entered again inside itself
        self._previous: list[list[tuple[str, bool | None]]] = []

    def _recreate_cm(self) -> using_modes:
        return using_modes(**self._modes)  # a decorated function may run in two threads at once

    def __enter__(self) -> using_modes:
        previous: list[tuple[str, bool | None]] = []
        self._previous.append(previous)
        try:
            for name, value in self._modes.items():
                previous.append((name, _C.set_mode(name, value)))
        except ValueError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name, value in self._previous.pop():
            _C.set_mode(name, value)


def using_mode(name: str, value: bool | None) -> using_modes:
    """A `with` block, or a decorator, in which one mode of this thread is set.

    Args:
        name: "enable_backprop", "debug", "type_check", "lazy_grad_sum", "train", "recording", "training", or one of the
            modes of nnabla's graphs, "deferred", "auto_forward" and "plain".
        value: a bool, or None for the process-wide default.

    Returns:
        The context manager.

    Raises:
        ValueError: on entry, there is no mode of that name.

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
    """A `with` block, or a decorator, in which this thread looks for NaN and checks what user-defined backwards return.
    Inside, a NaN in a result or a gradient raises RuntimeError with the function's name, and a backward that returns
    something else than Variables of its inputs' shapes raises ValueError.

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
