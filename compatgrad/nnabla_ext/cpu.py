"""The CPU extension."""

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


def context(type_config="float", **kw):
    """The CPU's Context. type_config: "float" or "half"; ValueError for another."""
    backends = {"float": ["cpu:float"], "half": ["cpu:half", "cpu:float"]}
    if type_config not in backends:
        raise ValueError(f"cpu.context: type_config must be 'float' or 'half', got {type_config!r}")
    return Context(backends[type_config], array_classes()[0], "")


def synchronize(**kw):
    """Does nothing: the CPU computes at once."""
