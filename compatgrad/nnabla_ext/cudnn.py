"""The GPU extension under its other name: here both mean the same kernels."""

from compatgrad.nnabla_ext.cuda import (
    array_classes,
    clear_memory_cache,
    device_synchronize,
    get_device_count,
    get_devices,
    make_context,
    synchronize,
)

__all__ = [
    "array_classes",
    "clear_memory_cache",
    "context",
    "device_synchronize",
    "get_device_count",
    "get_devices",
    "synchronize",
]


def context(device_id="0", type_config="float", **kw):
    """The GPU's Context: device_id is the GPU's number, type_config "float", "half" or "mixed_half"."""
    return make_context(["cudnn", "cuda"], device_id, type_config)
