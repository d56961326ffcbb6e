"""Devices: `cpu(i)`, `gpu(i)` and the default one."""

from __future__ import annotations

import threading
import warnings

import torch

from compatgrad import _C
from compatgrad.core.configuration import Settings

from ._docs import sharing
from .base import MXNetError

__all__ = ["Context", "cpu", "cpu_pinned", "cpu_shared", "current_context", "gpu", "gpu_memory_info", "num_gpus"]


class _ContextType(type):
    @property
    def default_ctx(cls) -> Context:
        """This thread's context (deprecated; `current_context()` takes its place)."""
        warnings.warn("Context.default_ctx has been deprecated. Please use mx.current_context()", DeprecationWarning, 2)
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, ctx: Context) -> None:
        Context._local.value = ctx


class Context(_C.Scope, metaclass=_ContextType):
    """A device on which arrays live. Inside a `with` block it is the default one of the thread.

    `cpu(0)` and `cpu(1)` are the same memory, yet different contexts to a program, as in the original.

    Args:
        device_type: "cpu", "gpu", "cpu_pinned" or "cpu_shared", or a context, which is copied.
        device_id: number of the device, from 0.

    Raises:
        KeyError: `device_type` has another value.

    Example:
        >>> with mx.Context("cpu", 1):
        ...     print(nd.zeros(2).context)
        cpu(1)

    Source: `mxnet.Context` of MXNet 1.9.1.
    """

    _local = threading.local()
    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type = {name: number for number, name in devtype2str.items()}

    __slots__ = ("device_id", "device_typeid")

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        elif device_type in self.devstr2type:
            self.device_typeid, self.device_id = self.devstr2type[device_type], device_id
        else:
            raise KeyError(f"Context: device_type: expected one of {', '.join(self.devstr2type)}, got {device_type!r}")

    @property
    def device_type(self) -> str:
        """ "cpu", "gpu", "cpu_pinned" or "cpu_shared"."""
        return self.devtype2str[self.device_typeid]

    @property
    def torch_device(self) -> torch.device:
        """torch's device of the arrays; MXNetError if the machine has no such GPU."""
        if self.device_typeid != 2:
            return _CPU
        if self.device_id >= num_gpus():
            raise MXNetError(
                f"gpu({self.device_id}): this machine has {num_gpus()} GPUs that torch {torch.__version__} can use"
            )
        return torch.device("cuda", self.device_id)

    def empty_cache(self) -> None:
        """Gives cached memory of a GPU back to the driver."""
        if self.device_typeid == 2:
            torch.cuda.empty_cache()

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    __str__ = __repr__

    def _settings(self) -> Settings:
        return {}, ((Context._local, "value", self),), self

    def __reduce__(self):
        return Context, (self.device_type, self.device_id)


_CPU = torch.device("cpu")
_FIRST = Context("cpu", 0)


_ON_CPU = """
    Args:
        device_id: distinguishes contexts in programs; the memory is the same.

    Returns:
        The context.

    Raises:
        Nothing.

    Source: `mxnet.{name}` of MXNet 1.9.1.
    """


@sharing(_ON_CPU)
def cpu(device_id: int = 0) -> Context:
    """The CPU.

    Example:
        >>> nd.zeros(2, ctx=mx.cpu()).context
        cpu(0)
    """
    return Context("cpu", device_id)


@sharing(_ON_CPU)
def cpu_pinned(device_id: int = 0) -> Context:
    """The CPU; arrays are not pinned, as a transfer to a GPU pins what it needs.

    Example:
        >>> mx.cpu_pinned()
        cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


@sharing(_ON_CPU)
def cpu_shared(device_id: int = 0) -> Context:
    """The CPU; its arrays go to other processes through files in shared memory when they are pickled there.

    Example:
        >>> mx.context.cpu_shared()
        cpu_shared(0)

    Source: `mxnet.context.cpu_shared` of MXNet 1.9.1.
    """
    return Context("cpu_shared", device_id)


def gpu(device_id: int = 0) -> Context:
    """A GPU, which has to be there only when an array is made on it.

    Args:
        device_id: number of the GPU, from 0.

    Returns:
        The context.

    Raises:
        Nothing; functions that make an array on a GPU that does not exist raise MXNetError.

    Example:
        >>> mx.gpu(1)
        gpu(1)

    Source: `mxnet.gpu` of MXNet 1.9.1.
    """
    return Context("gpu", device_id)


def num_gpus() -> int:
    """The number of GPUs that PyTorch can use.

    Returns:
        The number, 0 without CUDA.

    Example:
        >>> mx.num_gpus() >= 0
        True

    Source: `mxnet.num_gpus` of MXNet 1.9.1.
    """
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total memory of a GPU.

    Args:
        device_id: number of the GPU, from 0.

    Returns:
        The two numbers, in bytes.

    Raises:
        MXNetError: there is no such GPU.

    Example:
        >>> if mx.num_gpus():
        ...     free, total = mx.context.gpu_memory_info(0)

    Source: `mxnet.gpu_memory_info` of MXNet 1.9.1.
    """
    if device_id >= num_gpus():
        raise MXNetError(f"gpu_memory_info: device_id: there is no GPU {device_id}; there are {num_gpus()}")
    return torch.cuda.mem_get_info(device_id)


def current_context() -> Context:
    """The context of the innermost `with` block of this thread, else `cpu(0)`.

    Returns:
        The context.

    Example:
        >>> mx.current_context()
        cpu(0)

    Source: `mxnet.current_context` of MXNet 1.9.1.
    """
    return getattr(Context._local, "value", None) or _FIRST


def context_of(device: torch.device) -> Context:
    """The context of a device of PyTorch.

    Args:
        device: a `torch.device` of type "cpu" or "cuda".

    Returns:
        The context; a "cuda" device without a number is `gpu(0)`.

    Raises:
        AttributeError: `device` is no `torch.device`.

    Example:
        >>> mx.context.context_of(torch.device("cuda", 1))
        gpu(1)

    Source: of compatgrad itself; MXNet has no devices of PyTorch.
    """
    return _FIRST if device.type == "cpu" else Context("gpu", device.index or 0)
