"""Types that recur in annotations. Only type checkers import this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from compatgrad.chainer.backends import cuda
from compatgrad.chainer.types import DeviceSpec as DeviceSpec
from compatgrad.chainer.types import InitializerSpec
from compatgrad.chainer.variable import Variable

Array: TypeAlias = np.ndarray | cuda.ndarray
VariableOrArray: TypeAlias = Variable | Array
Initializer: TypeAlias = InitializerSpec | None
IntOrInts: TypeAlias = int | Sequence[int]
Shape: TypeAlias = int | Sequence[int]
DType: TypeAlias = np.dtype | type | str
# a nested pair of labels
Tree: TypeAlias = tuple[Any, Any]
