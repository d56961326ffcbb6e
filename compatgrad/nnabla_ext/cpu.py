"""The CPU extension."""

from compatgrad.nnabla.context import Context


def context(type_config="float", **kw):
    """The CPU's Context. type_config: "float" or "half"; ValueError for another."""
    backends = {"float": ["cpu:float"], "half": ["cpu:half", "cpu:float"]}
    if type_config not in backends:
        raise ValueError(f"cpu.context: type_config must be 'float' or 'half', got {type_config!r}")
    return Context(backends[type_config], array_classes()[0], "")


def array_classes():
    """Names of array classes, kept for programs that read them."""
    return ["CpuCachedArray", "CpuArray"]


def clear_memory_cache():
    """Does nothing: the CPU's allocator keeps no cache."""


def get_device_count():
    """1."""
    return 1


def get_devices():
    """[""]: the CPU has no device id."""
    return [""]


def device_synchronize(device=""):
    """Does nothing: the CPU computes at once."""


def synchronize(**kw):
    """Does nothing: the CPU computes at once."""
