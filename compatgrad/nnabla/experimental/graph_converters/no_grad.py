"""Graphs whose parameters do not learn."""

from __future__ import annotations

from typing import Any

from ...parameter import get_parameters
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["NoGradModifier"]


class NoGradModifier(FunctionModifier):
    """Copies a graph with need_grad=False for all registered parameters; those themselves stay as they are."""

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        parameters = {p.data for p in get_parameters(grad_only=False).values()}
        fixed = [x.get_unlinked_variable(need_grad=False) if x.data in parameters else x for x in inputs]
        return self._call_function(f.info.type_name, fixed, f.info.args)
