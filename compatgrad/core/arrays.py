"""Arrays on devices: CuPy views of CUDA tensors and back, without copies. The compiled module calls these."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from compatgrad import _C

_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # torch has it if it was built for CUDA
_DEFAULT_STREAM = 1  # its number in the array API; CUDA's is 0


def device_array(tensor: torch.Tensor) -> Any:
    """The CuPy array that shares memory with a CUDA tensor.

    Args:
        tensor: the tensor.

    Returns:
        The array.

    Raises:
        ImportError: CuPy is not installed.

    Example:
        device_array(torch.zeros(3, device="cuda"))  # a cupy.ndarray

    Source: `compatgrad/core/arrays.py`.
    """
    try:
        import cupy
    except ImportError as e:
        raise ImportError(
            f"the array of a tensor on {tensor.device} is a CuPy array, and CuPy is not installed: "
            "pip install cupy-cuda13x (for CUDA 13), move the tensor to the CPU, or use .tensor"
        ) from e
    return cupy.from_dlpack(tensor.detach())


def tensor_of_device_array(array: Any, what: str) -> torch.Tensor:
    """The tensor that shares memory with an array on a device.

    Args:
        array: an array that DLPack can export.
        what: the name of the array in the error.

    Returns:
        The tensor, on the array's device.

    Raises:
        TypeError: DLPack cannot export `array`.

    Example:
        >>> import numpy as np
        >>> from compatgrad.core.arrays import tensor_of_device_array
        >>> tensor_of_device_array(np.zeros(2, np.float32), "x")
        tensor([0., 0.])

    Source: `compatgrad/core/arrays.py`.
    """
    if not hasattr(array, "__dlpack__") or isinstance(array, (_C.Variable, _C.Array)):
        raise TypeError(f"{what}: expected an array or a torch tensor, got {type(array)}")
    if _current_stream and type(array).__module__ == "cupy":
        # What torch.from_dlpack does for such an array, without the layers of Python that take most of its time
        array = array.__dlpack__(stream=_current_stream(array.device.id) or _DEFAULT_STREAM)
    return torch.from_dlpack(array)  # type: ignore[attr-defined]


def shareable(array: np.ndarray) -> np.ndarray:
    """The array, or a copy in C order if torch cannot share its memory.

    torch has no other byte order than the machine's, no negative strides and none between elements, as columns of a
    table with several dtypes have them, and no memory that is read-only.

    Args:
        array: any array of a dtype that torch has.

    Returns:
        An array for `torch.from_numpy`.

    Raises:
        MemoryError: there is no memory for a copy.

    Example:
        >>> import numpy as np
        >>> from compatgrad.core.arrays import shareable
        >>> shareable(np.array([1, 2], ">f4")).dtype == np.float32
        True

    Source: `torch.from_numpy`.
    """
    whole = all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    if whole and array.dtype.isnative and array.flags.writeable:
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def refuse_dlpack(cls: type, instead: str) -> None:
    """Makes `torch.from_dlpack(x)` and `numpy.from_dlpack(x)` of objects of a class say what to pass instead.

    Without `__dlpack__` torch takes an object for a capsule, an invalid one.

    Args:
        cls: a class of Variables or arrays.
        instead: the expression that has the values, for the error.

    Raises:
        TypeError: in the methods that the class gets, not here.

    Example:
        >>> from compatgrad.core.arrays import refuse_dlpack
        >>> class Array:
        ...     "An array of a frontend."
        >>> refuse_dlpack(Array, "x.values")
        >>> torch.from_dlpack(Array())
        Traceback (most recent call last):
          ...
        TypeError: DLPack: Array is no plain array: its memory and its graph belong to compatgrad; pass x.values

    Source: `torch.from_dlpack` and `numpy.from_dlpack`, which call these methods.
    """

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"DLPack: {type(self).__name__} is no plain array: its memory and its graph belong to compatgrad; pass "
            f"{instead}"
        )

    for name in ("__dlpack__", "__dlpack_device__"):
        setattr(cls, name, refuse)
