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
    """Notes that contexts of a back end can be used; `nnabla.available_contexts` lists them.

    Args:
        ctx: the name of the back end, such as "cudnn".

    Raises:
        Nothing: any name is taken, a second time without effect.

    Example:
        >>> nn.add_available_context("cpu")
        >>> "cpu" in nn.available_contexts
        True

    Source: `nnabla.add_available_context` of nnabla 1.39.0.
    """
    if ctx not in available_contexts:
        available_contexts.append(ctx)


def array_classes() -> list[str]:
    """Tells which classes of arrays the CPU has. Memory comes from torch's allocator whatever is preferred.

    Returns:
        Names of the classes, the preferred one first.

    Example:
        >>> nn.array_classes()
        ['CpuCachedArray', 'CpuArray', 'CpuDlpackArray']

    Source: `nnabla.array_classes` of nnabla 1.39.0.
    """
    return preferred("CpuCachedArray", ["CpuArray", "CpuDlpackArray"])


def preferred(cached: str, others: list[str]) -> list[str]:
    """Names of array classes in the order that `prefer_cached_array` asks for."""
    return [cached, *others] if _cached_first else [*others, cached]


def prefer_cached_array(prefer: bool) -> None:
    """Sets the order of `array_classes`. Memory comes from torch's allocator either way.

    Args:
        prefer: whether the class of cached arrays is the first.

    Raises:
        ValueError: `prefer` is an array of several elements, which is neither true nor false.

    Example:
        >>> nn.prefer_cached_array(False)
        >>> nn.array_classes()
        ['CpuArray', 'CpuDlpackArray', 'CpuCachedArray']
        >>> nn.reset_array_preference()

    Source: `nnabla.prefer_cached_array` of nnabla 1.39.0.
    """
    global _cached_first
    _cached_first = bool(prefer)


def reset_array_preference() -> None:
    """Makes the class of cached arrays the first of `array_classes` again.

    Example:
        >>> nn.prefer_cached_array(False)
        >>> nn.reset_array_preference()
        >>> nn.array_classes()[0]
        'CpuCachedArray'

    Source: `nnabla.reset_array_preference` of nnabla 1.39.0.
    """
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
