"""The values of MXNet's arrays."""

import ctypes
import functools
from typing import Any

import numpy as np


class Arrays:
    def __init__(self, mx: Any) -> None:
        self.array, self.check = mx.nd.NDArray, mx.base.check_call
        library = getattr(mx.base, "_LIB", None)
        # compatgrad has no C library
        self.copy = library.MXNDArraySyncCopyToCPU if isinstance(library, ctypes.CDLL) else None

    def among(self, values: Any) -> Any:
        """The arrays in values, and in lists and tuples among them."""
        found = []
        for v in values:
            if isinstance(v, self.array):
                found.append(v)
            elif isinstance(v, (list, tuple)):
                found += self.among(v)
        return found

    def host(self, x: Any) -> Any:
        """The values of an array, by a direct call of MXNet's C function: half the time of the original's `asnumpy`."""
        if x is None or self.copy is None or type(x) is not self.array:
            return None if x is None else x.asnumpy()
        data: Any = np.empty(x.shape, x.dtype)
        if not data.size or data.dtype.kind not in "fiu":
            return x.asnumpy()
        self.check(self.copy(x.handle, ctypes.byref(ctypes.c_char.from_buffer(data)), ctypes.c_size_t(data.size)))
        return data

    def peek(self, x: Any) -> Any:
        """The values, if possible in the memory of the array itself, for an event that is written at once."""
        values = getattr(x, "array", None) if self.copy is None else None
        return values if type(values) is np.ndarray else self.host(x)

    def peek_all(self, xs: Any) -> Any:
        return [self.peek(x) for x in xs]

    def reader(self, x: Any) -> Any:
        return functools.partial(self.peek, x)
