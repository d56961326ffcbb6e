"""What Chainer programs see where ChainerX is not built: the question whether it is, and a type to test
against.
"""

from __future__ import annotations

from typing import Any

from compatgrad.names.absent import speak as _speak

_speak(__name__)


class ndarray:
    """Nothing is an instance of this.

    Args:
        *args: whatever ChainerX's array takes.
        **kwargs: whatever ChainerX's array takes.

    Raises:
        RuntimeError: always.

    Example:
        >>> isinstance(np.zeros(1), chainerx.ndarray)
        False

    Source: `chainerx.ndarray` of Chainer 7.8.1 without ChainerX.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("chainerx is not available.")


def is_available() -> bool:
    """Whether ChainerX is there.

    Returns:
        False.

    Example:
        >>> chainerx.is_available()
        False

    Source: `chainerx.is_available` of Chainer 7.8.1.
    """
    return False
