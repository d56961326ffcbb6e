"""Types that recur in annotations. Only type checkers import this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from compatgrad.chainer._array_typing import Array as Array
from compatgrad.chainer._array_typing import DeviceSpec as DeviceSpec
from compatgrad.chainer._array_typing import DType as DType
from compatgrad.chainer._array_typing import IntOrInts as IntOrInts
from compatgrad.chainer._array_typing import Shape as Shape
from compatgrad.chainer.types import InitializerSpec
from compatgrad.chainer.variable import Variable

VariableOrArray: TypeAlias = Variable | Array
VariablesOrArrays: TypeAlias = Sequence[VariableOrArray]
# the other operand of an operator of Variable
Operand: TypeAlias = VariableOrArray | float | np.number
Axes: TypeAlias = int | tuple[int, ...] | None
Initializer: TypeAlias = InitializerSpec | None
# a binary tree, written as nested pairs of labels
Tree: TypeAlias = tuple[Any, Any]
