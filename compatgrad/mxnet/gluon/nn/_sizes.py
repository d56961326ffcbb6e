"""Sizes and orders of axes, as convolutions and poolings take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base import numeric_types

if TYPE_CHECKING:
    from .._typing import Ints

__all__ = ["LAYOUTS", "ints"]

LAYOUTS = {1: ("NCW",), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def ints(value: Ints, n: int, name: str) -> tuple[int, ...]:
    """`value` for each of the n axes: a number stands for all. AssertionError for another length."""
    if isinstance(value, numeric_types):
        return (value,) * n
    assert len(value) == n, f"{name} must be a number or a list of {n} ints"
    return tuple(value)
