"""Functions about back ends that nnabla's compiled module `_init` has."""

from __future__ import annotations

from compatgrad.core import notes

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
    """Adds the name of a back end to `nnabla.available_contexts`.

    Args:
        ctx: the name of the back end, such as "cudnn".

    Raises:
        None: any name is accepted, and a second call has no effect.

    Example:
        >>> nn.add_available_context("cpu")
        >>> "cpu" in nn.available_contexts
        True

    Source: `nnabla.add_available_context` of nnabla 1.39.0.
    """
    if ctx not in available_contexts:
        available_contexts.append(ctx)


def array_classes() -> list[str]:
    """The names of the CPU's array classes. Memory comes from torch's allocator, whichever class is preferred.

    Returns:
        Names of the classes, the preferred one first.

    Example:
        >>> nn.array_classes()
        ['CpuCachedArray', 'CpuArray', 'CpuDlpackArray']

    Source: `nnabla.array_classes` of nnabla 1.39.0.
    """
    return preferred("CpuCachedArray", ["CpuArray", "CpuDlpackArray"])


def preferred(cached: str, others: list[str]) -> list[str]:
    """Names of array classes in the order that `prefer_cached_array` sets.

    Args:
        cached: the class of cached arrays.
        others: the other classes.

    Returns:
        A list of all names.

    Raises:
        TypeError: `others` is not iterable.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.preferred("Cached", ["Other"])
        ['Cached', 'Other']

    Source: compatgrad's own, for `array_classes`.
    """
    return [cached, *others] if _cached_first else [*others, cached]


def prefer_cached_array(prefer: bool) -> None:
    """Sets the order of `array_classes`. Memory comes from torch's allocator in both cases.

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
    notes.note_difference("memory cache")
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
    """Returns memory that is not in use, but kept for new arrays, to the system and to the GPU.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.clear_memory_cache()

    Source: `nnabla_ext.cuda.clear_memory_cache` of nnabla 1.39.0.
    """
    import torch

    from compatgrad import _C

    _C.release_memory()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def device_synchronize(device: str | int = "0") -> None:
    """Waits until a GPU has finished all its work. Without a GPU it does nothing.

    Args:
        device: number of the GPU, a str or int.

    Raises:
        ValueError: with a GPU, `device` is no number.
        RuntimeError: with a GPU, no GPU has this number.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.device_synchronize("0")

    Source: `nnabla_ext.cuda.device_synchronize` of nnabla 1.39.0.
    """
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize(int(device or 0))


def get_device_count() -> int:
    """The number of CPUs that a context can name.

    Returns:
        1.

    Example:
        >>> from compatgrad.nnabla_ext import cpu
        >>> cpu.get_device_count()
        1

    Source: `nnabla_ext.cpu.get_device_count` of nnabla 1.39.0.
    """
    return 1


def get_devices() -> list[str]:
    """The ids of the CPUs that a context can name.

    Returns:
        A list of str.

    Example:
        >>> from compatgrad.nnabla_ext import cpu
        >>> cpu.get_devices()
        ['0']

    Source: `nnabla_ext.cpu.get_devices` of nnabla 1.39.0.
    """
    return ["0"]
