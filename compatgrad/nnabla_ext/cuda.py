"""The GPU extension. Without a GPU its contexts mean the CPU."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad.nnabla._init import clear_memory_cache, device_synchronize, preferred  # noqa: F401
from compatgrad.nnabla.context import Context


def make_context(libraries: list[str], device_id: str | int, type_config: str) -> Context:
    """The context of several libraries at a precision.

    Args:
        libraries: names of the libraries, best first.
        device_id: number of the GPU, a str or int.
        type_config: "float", "half" or "mixed_half", as `context` takes it.

    Returns:
        A `Context`, whose last backend is the CPU.

    Raises:
        ValueError: another `type_config`.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.make_context(["cudnn", "cuda"], 0, "float").backend
        ['cudnn:float', 'cuda:float', 'cpu:float']

    Source: compatgrad's own, what the contexts of the extensions `cuda` and `cudnn` have in common.
    """
    if type_config not in ("float", "half", "mixed_half"):
        raise ValueError(f"{libraries[0]}.context: type_config must be float, half or mixed_half, got {type_config!r}")
    kinds = ("float",) if type_config == "float" else (type_config, "float")
    backends = [f"{library}:{kind}" for library in libraries for kind in kinds]
    return Context([*backends, "cpu:float"], array_classes()[0], str(device_id))


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
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.context(device_id=1).backend
        ['cuda:float', 'cpu:float']

    Source: `nnabla_ext.cuda.context` of nnabla 1.39.0.
    """
    return make_context(["cuda"], device_id, type_config)


def array_classes() -> list[str]:
    """Names of array classes, kept for programs that read them: compatgrad has one kind of array.

    Returns:
        The names, the preferred one first.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.array_classes()
        ['CudaCachedArray', 'CudaArray']

    Source: `nnabla_ext.cuda.array_classes` of nnabla 1.39.0.
    """
    return preferred("CudaCachedArray", ["CudaArray"])


def get_device_count() -> int:
    """The number of GPUs.

    Returns:
        An int, 0 without a GPU.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.get_device_count() == torch.cuda.device_count()
        True

    Source: `nnabla_ext.cuda.get_device_count` of nnabla 1.39.0.
    """
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def get_devices() -> list[str]:
    """The ids of the GPUs.

    Returns:
        A list of str, "0" and so on.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> len(cuda.get_devices()) == cuda.get_device_count()
        True

    Source: `nnabla_ext.cuda.get_devices` of nnabla 1.39.0.
    """
    return [str(i) for i in range(get_device_count())]


def synchronize(device_id: str | int = "0", **kw: Any) -> None:
    """Waits until a GPU has finished. Without a GPU it does nothing.

    Args:
        device_id: number of the GPU, a str or int.
        **kw: ignored, so that a program can give the extension's context as keywords.

    Raises:
        ValueError: with a GPU, `device_id` is no number.
        RuntimeError: with a GPU, there is none of that number.

    Example:
        >>> from compatgrad.nnabla_ext import cuda
        >>> cuda.synchronize(device_id="0")

    Source: `nnabla_ext.cuda.synchronize` of nnabla 1.39.0.
    """
    device_synchronize(device_id)
