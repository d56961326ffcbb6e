"""Types that recur in annotations. Only type checkers import this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch

# what names the type of elements: "float32", np.float32, np.dtype("float32"), torch.float32
Dtype: TypeAlias = str | type | np.dtype | torch.dtype
# the lengths of all axes, or the only one
Shape: TypeAlias = int | Sequence[int]
