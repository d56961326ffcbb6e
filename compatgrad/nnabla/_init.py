"""What nnabla tells of its back ends."""

from __future__ import annotations

__all__ = [
    "add_available_context", "array_classes", "available_contexts", "clear_memory_cache", "device_synchronize",
    "get_device_count", "get_devices", "prefer_cached_array", "reset_array_preference",
]

available_contexts = ["cpu"]
_preference = "CpuCachedArray"


def add_available_context(ctx: str) -> None:
    """Notes that contexts of that name can be used."""
    if ctx not in available_contexts:
        available_contexts.append(ctx)


def array_classes() -> list[str]:
    """Names of the array classes in order of preference. torch's allocator caches whatever is preferred."""
    return ["CpuCachedArray", "CpuArray"] if _preference == "CpuCachedArray" else ["CpuArray", "CpuCachedArray"]


def prefer_cached_array(prefer: bool) -> None:
    """Accepted: memory comes from torch's allocator."""
    global _preference
    _preference = "CpuCachedArray" if prefer else "CpuArray"


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
