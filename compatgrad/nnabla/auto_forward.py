"""Whether functions run when they are called, or when `forward` is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from compatgrad import _C

__all__ = ["auto_forward", "get_auto_forward", "set_auto_forward"]


def set_auto_forward(auto: bool) -> None:
    """True: functions run at once (dynamic graph). False, the default: at `forward` (static graph)."""
    _C.set_default_mode("auto_forward", bool(auto))


def get_auto_forward() -> bool:
    """Whether functions run at once."""
    return _C.get_mode("auto_forward")


@contextlib.contextmanager
def auto_forward(auto: bool = True) -> Iterator[None]:
    """Functions run at once inside the `with` block."""
    old = get_auto_forward()
    set_auto_forward(auto)
    try:
        yield
    finally:
        set_auto_forward(old)
