"""`mx.rtc`: explains that CUDA sources in Python programs are not compiled."""

from __future__ import annotations

from collections.abc import Sequence

from .base import MXNetError

__all__ = ["CudaKernel", "CudaModule"]


class CudaModule:
    """Raises an error that names the replacement for CUDA sources: CuPy's RawKernel takes the same source.

    Args:
        source: CUDA code.
        options: options of the compiler.
        exports: names of the kernels.

    Raises:
        MXNetError: always.

    Example:
        >>> mx.rtc.CudaModule("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }")
        Traceback (most recent call last):
            ...
        compatgrad.mxnet.base.MXNetError: rtc.CudaModule: CUDA sources are not compiled here; ...

    Source: `mxnet.rtc.CudaModule` of MXNet 1.9.1.
    """

    def __init__(self, source: str, options: Sequence[str] = (), exports: Sequence[str] = ()) -> None:
        raise MXNetError(
            "rtc.CudaModule: CUDA sources are not compiled here; cupy.RawKernel(source, name) takes the same source, "
            "and arrays go to it with to_dlpack_for_read"
        )


class CudaKernel:
    """The class that `CudaModule.get_kernel` gives in MXNet; it cannot be made here.

    Args:
        *args: anything.

    Raises:
        MXNetError: always.

    Example:
        >>> mx.rtc.CudaKernel()
        Traceback (most recent call last):
            ...
        compatgrad.mxnet.base.MXNetError: rtc.CudaKernel: CUDA sources are not compiled here; see rtc.CudaModule

    Source: `mxnet.rtc.CudaKernel` of MXNet 1.9.1.
    """

    def __init__(self, *args: object) -> None:
        raise MXNetError("rtc.CudaKernel: CUDA sources are not compiled here; see rtc.CudaModule")
