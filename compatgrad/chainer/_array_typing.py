"""Types of arrays in annotations, for modules that `Variable` itself needs. Only type checkers import this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from compatgrad.chainer.backends import cuda
from compatgrad.chainer.types import DeviceSpec as DeviceSpec

Array: TypeAlias = np.ndarray | cuda.ndarray
IntOrInts: TypeAlias = int | Sequence[int]
Shape: TypeAlias = int | Sequence[int]
DType: TypeAlias = np.dtype | type | str
