"""The CPU extension."""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla._init import (
    array_classes,
    clear_memory_cache,
    device_synchronize,
    get_device_count,
    get_devices,
)
from compatgrad.nnabla.context import Context

__all__ = [
    "array_classes",
    "clear_memory_cache",
    "context",
    "device_synchronize",
    "get_device_count",
    "get_devices",
    "synchronize",
]


def context(type_config: str = "float", **kw: Any) -> Context:
    """The CPU's Context.

    Args:
        type_config: "float", float32, or "half", float16 where a function has it.
        **kw: ignored.

    Returns:
        A `Context`, whose backends are tried from the first.

    Raises:
        ValueError: another `type_config`.

    Example:
        >>> from compatgrad.nnabla_ext import cpu
        >>> cpu.context(type_config="half").backend
        ['cpu:half', 'cpu:float']

    Source: `nnabla_ext.cpu.context` of nnabla 1.39.0.
    """
    backends = {"float": ["cpu:float"], "half": ["cpu:half", "cpu:float"]}
    if type_config not in backends:
        raise ValueError(f"cpu.context: type_config must be 'float' or 'half', got {type_config!r}")
    return Context(backends[type_config], array_classes()[0], "")


def synchronize(**kw: Any) -> None:
    """Does nothing: the CPU computes at once.

    Args:
        **kw: ignored, whatever the other extensions' take.

    Raises:
        Nothing.

    Example:
        >>> from compatgrad.nnabla_ext import cpu
        >>> cpu.synchronize()

    Source: `nnabla_ext.cpu.synchronize` of nnabla 1.39.0.
    """
