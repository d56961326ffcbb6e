"""Types that recur in annotations. Only type checkers import this module."""

from __future__ import annotations

from typing import Any, TypeAlias

from compatgrad.chainer._array_typing import Array as Array
from compatgrad.chainer._array_typing import DeviceSpec as DeviceSpec
from compatgrad.chainer._array_typing import DType as DType
from compatgrad.chainer._array_typing import IntOrInts as IntOrInts
from compatgrad.chainer._array_typing import Shape as Shape
from compatgrad.chainer.types import InitializerSpec
from compatgrad.chainer.variable import Variable

VariableOrArray: TypeAlias = Variable | Array
Initializer: TypeAlias = InitializerSpec | None
# a nested pair of labels
Tree: TypeAlias = tuple[Any, Any]
