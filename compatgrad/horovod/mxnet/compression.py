"""Compression of gradients before they are sent."""

from __future__ import annotations

from typing import Any


class Compressor:
    """What a compression must have: `compress(tensor)` gives an array and a context, `decompress(array, context)`
    gives the first array back.

    Example:
        >>> from compatgrad.horovod.mxnet.compression import Compressor
        >>> class Halved(Compressor):
        ...     compress = staticmethod(lambda tensor: (tensor / 2, None))
        ...     decompress = staticmethod(lambda tensor, ctx: tensor * 2)
        >>> Halved.decompress(*Halved.compress(nd.ones(1))).asnumpy()
        array([1.], dtype=float32)

    Source: `horovod.mxnet.compression.Compressor` of Horovod 0.28.1.
    """

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """To be defined: the array that is sent, and what `decompress` needs."""
        raise NotImplementedError("Compressor.compress: a subclass must define it")

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """To be defined: the array in its first form."""
        raise NotImplementedError("Compressor.decompress: a subclass must define it")


class NoneCompressor(Compressor):
    """Sends arrays as they are.

    Example:
        >>> from compatgrad.horovod.mxnet.compression import NoneCompressor
        >>> NoneCompressor.compress(nd.ones(1))[1] is None
        True

    Source: `horovod.mxnet.compression.NoneCompressor` of Horovod 0.28.1.
    """

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor


class FP16Compressor(Compressor):
    """Sends floating-point arrays in float16.

    Example:
        >>> from compatgrad.horovod.mxnet.compression import FP16Compressor
        >>> FP16Compressor.compress(nd.ones(1))
        (
        [1.]
        <NDArray 1 @cpu(0)>, <class 'numpy.float32'>)

    Source: `horovod.mxnet.compression.FP16Compressor` of Horovod 0.28.1.
    """

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        return (tensor.astype("float16", copy=False) if _is_float(tensor.dtype) else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        return tensor.astype(ctx, copy=False) if _is_float(ctx) else tensor


def _is_float(dtype: Any) -> bool:
    return "float" in str(dtype)


class Compression:
    """The compressions for `DistributedTrainer`.

    Attributes:
        none: sends arrays as they are.
        fp16: sends floating-point arrays in float16.

    Example:
        >>> hvd.Compression.fp16.compress(nd.ones(2))[0].dtype
        <class 'numpy.float16'>

    Source: `horovod.mxnet.Compression` of Horovod 0.28.1.
    """

    none = NoneCompressor
    fp16 = FP16Compressor
