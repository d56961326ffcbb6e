"""Modes of the running thread: whether operations are recorded, debug checks, type checks."""

from __future__ import annotations

from contextlib import ContextDecorator

from compatgrad import _C

__all__ = ["force_backprop_mode", "no_backprop_mode", "using_debug", "using_mode"]


class using_mode(ContextDecorator):
    """Sets a mode of this thread inside a `with` block or a decorated function, and restores it, also on an
    exception.

    `name` is one of ``enable_backprop``, ``debug``, ``type_check``, ``lazy_grad_sum``, ``train``; `value` is
    a bool, or None for the process-wide default. Raises ValueError for another name.
    """

    def __init__(self, name: str, value: bool | None):
        self._name = name
        self._value = value
        self._previous: list = []  # a stack: one object may be entered again inside itself

    def _recreate_cm(self) -> using_mode:
        return using_mode(self._name, self._value)  # a decorated function may run in two threads at once

    def __enter__(self) -> using_mode:
        self._previous.append(_C.set_mode(self._name, self._value))
        return self

    def __exit__(self, *_) -> None:
        _C.set_mode(self._name, self._previous.pop())


def no_backprop_mode() -> using_mode:
    """Operations inside are not recorded: their results have no creator."""
    return using_mode("enable_backprop", False)


def force_backprop_mode() -> using_mode:
    """Operations inside are recorded, even within `no_backprop_mode`."""
    return using_mode("enable_backprop", True)


def using_debug(value: bool = True) -> using_mode:
    """Looks for NaN after every forward and backward, and checks what functions return."""
    return using_mode("debug", value)
