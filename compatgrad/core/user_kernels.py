"""CuPy together with torch: user-defined kernels run on torch's current stream, with memory from torch's allocator.

All functions take the `cupy` module as an argument, because it is imported only if a program uses it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.arrays import device_array

__all__ = ["Kernel", "TorchMemoryPool", "stream_to_enter"]


class TorchMemoryPool:
    """A memory pool for CuPy that allocates from torch's caching allocator; `cupy.cuda.set_allocator(pool.malloc)`
    activates it. With separate pools, CuPy would hold memory that torch needs, and vice versa.

    Args:
        cupy: the module `cupy`.

    Example:
        pool = TorchMemoryPool(cupy)
        cupy.cuda.set_allocator(pool.malloc)

    Source: `compatgrad/core/user_kernels.py`.
    """

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._source = cupy.cuda.PythonFunctionAllocator(self._allocate, self._free)

    def _allocate(self, size: int, device_id: int) -> int:
        # Allocated for the stream on which CuPy will use it: after its release torch reuses it on that stream.
        stream = self._cupy.cuda.get_current_stream().ptr
        return torch.cuda.caching_allocator_alloc(size, device_id, stream) if size else 0

    def _free(self, pointer: int, device_id: int) -> None:
        if pointer:
            torch.cuda.caching_allocator_delete(pointer)

    def malloc(self, size: int) -> Any:
        """A ``cupy.cuda.MemoryPointer`` to `size` bytes on the current device."""
        return self._source.malloc(size)

    def used_bytes(self) -> int:
        """Bytes in use on the current device, torch's included."""
        return torch.cuda.memory_allocated()

    def total_bytes(self) -> int:
        """Bytes that the allocator holds on the current device."""
        return torch.cuda.memory_reserved()

    def free_bytes(self) -> int:
        """Unused bytes that the allocator holds."""
        return self.total_bytes() - self.used_bytes()

    def free_all_blocks(self, stream: Any = None) -> None:
        """Returns unused memory of all streams to the driver."""
        torch.cuda.empty_cache()


def stream_to_enter(cupy: Any, device_id: int | None = None) -> Any:
    """torch's current stream as a CuPy stream.

    Args:
        cupy: the module `cupy`.
        device_id: number of the device; None is the current one.

    Returns:
        The stream; None if it is CuPy's current stream already, or if the program has chosen a stream for CuPy.

    Raises:
        AssertionError: torch is built without CUDA.
        RuntimeError: there is no CUDA device.

    Example:
        with stream_to_enter(cupy) or contextlib.nullcontext():
            kernel(x)

    Source: `compatgrad/core/user_kernels.py`.
    """
    stream = torch.cuda.current_stream(device_id)
    if not stream.cuda_stream or cupy.cuda.get_current_stream().ptr:
        return None
    if hasattr(cupy.cuda.Stream, "from_external"):  # CuPy 14
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.cuda_stream, stream.device_index)


class Kernel:
    """A CuPy kernel that also accepts tensors, Variables without a gradient and nnabla's arrays, all without copies,
    and runs on torch's current stream. Its results are CuPy arrays. Other attributes are those of the CuPy kernel. A
    call raises ValueError for an argument that requires a gradient, and TypeError for an argument on the CPU.

    Args:
        cupy: the module `cupy`.
        kernel: the kernel of CuPy.
        name: its name in errors.

    Example:
        kernel = Kernel(cupy, cupy.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice"), "twice")
        kernel(torch.zeros(3, device="cuda"))

    Source: `compatgrad/core/user_kernels.py`.
    """

    def __init__(self, cupy: Any, kernel: Any, name: str) -> None:
        self._cupy = cupy
        self._kernel = kernel
        self._label = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = tuple([self._view(x) for x in args])
        kwargs = {name: self._view(x) for name, x in kwargs.items()}
        with stream_to_enter(self._cupy) or contextlib.nullcontext():
            return self._kernel(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_kernel"], name)

    def __repr__(self) -> str:
        return repr(self._kernel)

    def _view(self, x: Any) -> Any:
        """The CuPy array that shares the memory of x; numbers and CuPy arrays are returned unchanged."""
        if isinstance(x, (tuple, list)):  # the arguments of a RawKernel
            return type(x)([self._view(item) for item in x])
        if isinstance(x, (_C.Variable, _C.Array)):
            tensor = x.tensor
        elif isinstance(x, torch.Tensor):
            tensor = x
        else:
            return x
        if isinstance(x, (_C.Variable, torch.Tensor)) and x.requires_grad:
            raise ValueError(
                f"kernel {self._label}: got a {type(x).__name__} that requires a gradient, which would end here "
                "silently; call the kernel inside a Function on its arrays, or pass the detached values"
            )
        if tensor is None or tensor.device.type == "cpu":
            place = "no values" if tensor is None else "values on cpu"
            raise TypeError(
                f"kernel {self._label}: expected an array on a CUDA device, got a {type(x).__name__} with {place}"
            )
        return device_array(tensor)
