"""The types that signatures of this frontend have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.initializer import BaseInitializer
from compatgrad.nnabla.variable import Variable

#: What functions take and give: Variables make a graph; where an input is an NdArray, all runs at once into NdArrays.
Array: TypeAlias = Variable | NdArray
#: Where a parameter's first values come from: an initializer, a function of the shape, or the values themselves.
Initializer: TypeAlias = BaseInitializer | Callable[[tuple[int, ...]], np.ndarray] | np.ndarray
