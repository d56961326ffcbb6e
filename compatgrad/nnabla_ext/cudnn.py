"""The GPU extension under its other name: here both mean the same kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.nnabla_ext.cuda import (
    array_classes,
    clear_memory_cache,
    device_synchronize,
    get_device_count,
    get_devices,
    make_context,
    synchronize,
)

if TYPE_CHECKING:
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


def context(device_id: str | int = "0", type_config: str = "float", **kw: Any) -> Context:
    """The GPU's Context. Without a GPU it means the CPU.

    Args:
        device_id: number of the GPU, a str or int.
        type_config: "float", float32; "half", float16 where a function has it; "mixed_half", float16 with float32
            parameters.
        **kw: ignored.

    Returns:
        A `Context`, whose backends are tried from the first.

    Raises:
        ValueError: another `type_config`.

    Example:
        >>> from compatgrad.nnabla_ext import cudnn
        >>> cudnn.context(device_id=1).backend
        ['cudnn:float', 'cuda:float', 'cpu:float']

    Source: `nnabla_ext.cudnn.context` of nnabla 1.39.0.
    """
    return make_context(["cudnn", "cuda"], device_id, type_config)
