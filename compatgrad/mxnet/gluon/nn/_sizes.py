"""Sizes and orders of axes, as convolutions and poolings take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...base import numeric_types

if TYPE_CHECKING:
    from .._typing import Ints

__all__ = ["LAYOUTS", "axes_words", "ints"]

LAYOUTS = {1: ("NCW",), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def ints(value: Ints, n: int, name: str) -> tuple[int, ...]:
    """`value` for each of the n axes: a number stands for all. AssertionError for another length."""
    if isinstance(value, numeric_types):
        return (value,) * n
    assert len(value) == n, f"{name} must be a number or a list of {n} ints"
    return tuple(value)


def axes_words(n: int, layouts: Mapping[int, tuple[str, ...]] = LAYOUTS) -> dict[str, Any]:
    """The parts of a docstring that depend on the number of spatial axes: axes, shape of the data, layouts."""
    names = ("depth", "height", "width")[-n:] if n > 1 else ("width",)
    return {
        "axes": n,
        "shape": f"(batch, channels, {', '.join(names)})",
        "layouts": " or ".join(f'"{layout}"' for layout in layouts[n]),
    }
