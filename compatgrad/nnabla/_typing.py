"""Types that recur in annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from compatgrad.nnabla._nd_array import NdArray
from compatgrad.nnabla.initializer import BaseInitializer
from compatgrad.nnabla.variable import Variable

#: Inputs and results of functions: Variables are recorded in a graph; where an input is an NdArray, the function runs
#: at once and returns NdArrays.
Array: TypeAlias = Variable | NdArray
#: The initial values of a parameter: an initializer, a function of the shape, or the values themselves.
Initializer: TypeAlias = BaseInitializer | Callable[[tuple[int, ...]], np.ndarray] | np.ndarray
