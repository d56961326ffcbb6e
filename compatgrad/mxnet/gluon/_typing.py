"""Types that recur in annotations of this package. Only type checkers import this module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .._typing import Dtype as Dtype
from .._typing import Shape as Shape
from ..context import Context
from ..initializer import Initializer

# a device, or several that share a batch
Contexts: TypeAlias = Context | Sequence[Context]
# an initializer or its name
Init: TypeAlias = Initializer | str
# a number for each axis, or one for all
Ints: TypeAlias = int | Sequence[int]
