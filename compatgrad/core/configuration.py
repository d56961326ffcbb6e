"""Modes of the running thread: whether operations are recorded, debug checks, type checks."""

from __future__ import annotations

from contextlib import ContextDecorator

from compatgrad import _C

__all__ = ["force_backprop_mode", "no_backprop_mode", "using_debug", "using_mode", "using_modes"]


class using_modes(ContextDecorator):
    """Sets modes of this thread inside a `with` block or a decorated function, and restores them, also on an
    exception: ``using_modes(enable_backprop=True, train=False)``.

    The names are those of the engine's modes; each value is a bool, or None for the process-wide default. Raises
    ValueError for another name.
    """

    def __init__(self, **modes: bool | None):
        self._modes = modes
        self._previous: list = []  # a stack: one object may be entered again inside itself

    def _recreate_cm(self) -> using_modes:
        return using_modes(**self._modes)  # a decorated function may run in two threads at once

    def __enter__(self) -> using_modes:
        previous: list = []
        self._previous.append(previous)
        try:
            for name, value in self._modes.items():
                previous.append((name, _C.set_mode(name, value)))
        except ValueError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for name, value in self._previous.pop():
            _C.set_mode(name, value)


def using_mode(name: str, value: bool | None) -> using_modes:
    """`using_modes` of one mode, such as ``enable_backprop``, ``debug``, ``type_check`` or ``train``."""
    return using_modes(**{name: value})


def no_backprop_mode() -> using_modes:
    """Operations inside are not recorded: their results have no creator."""
    return using_mode("enable_backprop", False)


def force_backprop_mode() -> using_modes:
    """Operations inside are recorded, even within `no_backprop_mode`."""
    return using_mode("enable_backprop", True)


def using_debug(value: bool = True) -> using_modes:
    """Looks for NaN after every forward and backward, and checks what functions return."""
    return using_mode("debug", value)
