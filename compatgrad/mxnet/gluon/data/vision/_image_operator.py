"""ImageOperator: the base class of transformations that are one operator on images."""

from __future__ import annotations

from typing import Any

from ....base import numeric_types
from ....util import is_np_array
from ...block import HybridBlock

__all__ = ["ImageOperator", "operators_of", "pair"]


def operators_of(F: Any) -> Any:
    """`F.npx` for arrays of mx.np, else F: the namespace whose `image` has the operators."""
    return F.npx if is_np_array() and hasattr(F, "npx") else F


def pair(size: Any) -> Any:
    return (size, size) if isinstance(size, numeric_types) else size


class ImageOperator(HybridBlock):
    """An operator of `nd.image` with fixed arguments."""

    _operator: str

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self._args = args

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return getattr(operators_of(F).image, self._operator)(x, *self._args)
