"""CUDA code from Python programs."""

from __future__ import annotations

from collections.abc import Sequence

from .base import MXNetError

__all__ = ["CudaKernel", "CudaModule"]


class CudaModule:
    """MXNetError: CUDA sources are not compiled; CuPy's RawKernel takes the same source."""

    def __init__(self, source: str, options: Sequence[str] = (), exports: Sequence[str] = ()) -> None:
        raise MXNetError(
            "rtc.CudaModule: CUDA sources are not compiled here; cupy.RawKernel(source, name) takes the same source, "
            "and arrays go to it with to_dlpack_for_read"
        )


class CudaKernel:
    """What CudaModule.get_kernel would give."""

    def __init__(self, *args: object) -> None:
        raise MXNetError("rtc.CudaKernel: CUDA sources are not compiled here; see rtc.CudaModule")
