"""A converter that removes functions of some types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["RemoveFunctionModifier"]


class RemoveFunctionModifier(FunctionModifier):
    """Removes functions of some types: functions that read their outputs read their first inputs instead.

    Args:
        rm_funcs: the names of the types.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = F.dropout(F.relu(nn.Variable((2, 3))))
        >>> GC.GraphConverter([GC.RemoveFunctionModifier(["Dropout"])]).convert(y).parent.info.type_name
        'ReLU'

    Source: `nnabla.experimental.graph_converters.RemoveFunctionModifier` of nnabla 1.39.0.
    """

    def __init__(self, rm_funcs: Sequence[str] = ()) -> None:
        super().__init__()
        self._rm_funcs = tuple(rm_funcs)

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        return inputs[0] if f.info.type_name in self._rm_funcs else None
