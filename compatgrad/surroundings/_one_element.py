"""Arrays of one element as numbers, which NumPy 2.4 ended: `'%f' % loss.asnumpy()` stands in many programs for MXNet,
where a loss has the shape (1,)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from compatgrad.surroundings._callers import calling_frame, program_frame
from compatgrad.surroundings._row import Row, installed_version
from compatgrad.surroundings._uses import is_given

_rows: list[Row] = []


class array(np.ndarray):  # NumPy prints the class's name
    """An array that the program may convert to a number while it has one element."""

    __slots__ = ()

    def __float__(self) -> float:
        if self.size == 1 and is_given(_rows[-1], calling_frame()):
            return float(self.item())
        return super().__float__()

    def __int__(self) -> int:
        if self.size == 1 and is_given(_rows[-1], calling_frame()):
            return int(self.item())
        return super().__int__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.view(np.ndarray).__reduce_ex__(protocol)


def old_asnumpy(module: ModuleType, row: Row) -> Callable[[], None]:
    """Makes `asnumpy` of MXNet's arrays return such arrays to the program."""
    if installed_version("numpy") < (2, 4):
        return lambda: None
    _rows.append(row)
    original = module.NDArray.asnumpy

    @functools.wraps(original)
    def asnumpy(self: Any) -> np.ndarray:
        found: np.ndarray = original(self)
        if found.size == 1 and found.ndim and program_frame(calling_frame()) is not None:
            return found.view(array)
        return found

    module.NDArray.asnumpy = asnumpy
    return lambda: setattr(module.NDArray, "asnumpy", original)
