"""What nnabla tells of its back ends."""

from __future__ import annotations

__all__ = [
    "add_available_context",
    "array_classes",
    "available_contexts",
    "clear_memory_cache",
    "device_synchronize",
    "get_device_count",
    "get_devices",
    "prefer_cached_array",
    "reset_array_preference",
]

available_contexts = ["cpu"]
_cached_first = True


def add_available_context(ctx: str) -> None:
    """Notes that contexts of that name can be used."""
    if ctx not in available_contexts:
        available_contexts.append(ctx)


def array_classes() -> list[str]:
    """Names of the array classes in order of preference. torch's allocator caches whatever is preferred."""
    return preferred("CpuCachedArray", ["CpuArray", "CpuDlpackArray"])


def preferred(cached: str, others: list[str]) -> list[str]:
    """Names of array classes in the order that `prefer_cached_array` asks for."""
    return [cached, *others] if _cached_first else [*others, cached]


def prefer_cached_array(prefer: bool) -> None:
    """Sets the order of `array_classes`; memory comes from torch's allocator either way."""
    global _cached_first
    _cached_first = bool(prefer)


def reset_array_preference() -> None:
    """Goes back to the default."""
    prefer_cached_array(True)


def clear_memory_cache() -> None:
    """Frees what torch's allocator caches on GPUs."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def device_synchronize(device: str = "0") -> None:
    """Waits until the GPU of that number is idle; nothing to wait for on the CPU."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize(int(device or 0))


def get_device_count() -> int:
    """Number of CPU devices: 1."""
    return 1


def get_devices() -> list[str]:
    """Numbers of the CPU devices."""
    return ["0"]
