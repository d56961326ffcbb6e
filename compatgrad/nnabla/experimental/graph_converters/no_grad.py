"""A converter whose result needs no gradients of parameters."""

from __future__ import annotations

from typing import Any

from ...parameter import get_parameters
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["NoGradModifier"]


class NoGradModifier(FunctionModifier):
    """Copies a graph with need_grad=False for all registered parameters; the parameters themselves are not changed.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.affine(nn.Variable((2, 3)), 4)
        >>> fixed = GC.GraphConverter([GC.NoGradModifier()]).convert(y)
        >>> [v.need_grad for v in fixed.parent.inputs], [v.need_grad for v in y.parent.inputs]
        ([False, False, False], [False, True, True])

    Source: `nnabla.experimental.graph_converters.NoGradModifier` of nnabla 1.39.0.
    """

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        parameters = {p.data for p in get_parameters(grad_only=False).values()}
        fixed = [x.get_unlinked_variable(need_grad=False) if x.data in parameters else x for x in inputs]
        return self._call_function(f.info.type_name, fixed, f.info.args)
