"""Tensors that are computed from numbers, such as the weights of an interpolation, and kept for the next call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from compatgrad import _C

__all__ = ["keep"]

Function = TypeVar("Function", bound=Callable[..., Any])


def keep(most: int) -> Callable[[Function], Function]:
    """A decorator of functions that compute tensors from numbers: their last results are kept.

    While torch traces, and in `torch.inference_mode`, nothing is kept or taken from what was kept, because a tensor
    that is made there cannot be used afterwards, and a tracer refuses tensors from before.

    Args:
        most: how many results are kept.

    Returns:
        A decorator. The function that it makes takes hashable arguments by position.

    Raises:
        TypeError: the made function is called with an argument that is not hashable.

    Example:
        >>> import torch
        >>> from compatgrad.core.kept_tensors import keep
        >>> @keep(4)
        ... def ramp(n):
        ...     return torch.arange(n)
        >>> ramp(3) is ramp(3)
        True
        >>> with torch.inference_mode():
        ...     ramp(3) is ramp(3)
        False

    Source: `compatgrad/core/kept_tensors.py`.
    """

    def decorate(function: Function) -> Function:
        kept = functools.lru_cache(most)(function)

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            return function(*args) if _C.traced() or torch.is_inference_mode_enabled() else kept(*args)

        return call  # type: ignore[return-value]

    return decorate
