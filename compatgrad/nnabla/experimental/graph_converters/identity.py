"""A converter that copies a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["IdentityModifier"]


class IdentityModifier(FunctionModifier):
    """Copies a graph.

    Args:
        inputs: maps leaves of the old graph to leaves of the new one; other leaves of the copy share the arrays of the
            old leaves.
        copy_value: whether data and gradients of the old leaves are copied into the new ones. Raises ValueError if the
            shapes differ.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> x, other = nn.Variable((2, 3)), nn.Variable((2, 3))
        >>> y = GC.GraphConverter([GC.IdentityModifier({x: other})]).convert(F.relu(x))
        >>> y.parent.inputs[0] == other
        True

    Source: `nnabla.experimental.graph_converters.IdentityModifier` of nnabla 1.39.0.
    """

    def __init__(self, inputs: Mapping[Variable, Variable] | None = None, copy_value: bool = False) -> None:
        super().__init__()
        self._input_dict = dict(inputs or {})
        self._copy_value = copy_value

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if not any(x in self._input_dict for x in f.inputs):
            return None
        return self._call_function(
            f.info.type_name, [self._taken(x, new) for x, new in zip(f.inputs, inputs, strict=True)], f.info.args
        )

    def _taken(self, old: Variable, new: Variable) -> Variable:
        if old.parent is not None or old not in self._input_dict:
            return new
        given = self._input_dict[old]
        if self._copy_value:
            if given.shape != old.shape:
                raise ValueError(f"IdentityModifier: values of {old.shape} do not fit an input of {given.shape}")
            given.d, given.g = old.d.copy(), old.g.copy()
        return given

    def __finish__(self) -> None:
        self._input_dict = {}
        self._copy_value = False
