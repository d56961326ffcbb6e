"""Graphs without some types of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["RemoveFunctionModifier"]


class RemoveFunctionModifier(FunctionModifier):
    """Leaves out the functions whose type is in `rm_funcs`: what read their output reads their first input."""

    def __init__(self, rm_funcs: Sequence[str] = ()) -> None:
        super().__init__()
        self._rm_funcs = tuple(rm_funcs)

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        return inputs[0] if f.info.type_name in self._rm_funcs else None
