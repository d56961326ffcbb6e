"""A converter that replaces batch normalizations by a factor and an offset."""

from __future__ import annotations

from typing import Any

from ... import parameter
from ...variable import Variable
from ._folding import scale_and_offset
from .graph_converter import FunctionModifier

__all__ = ["BatchNormalizationSelfFoldingModifier"]


class BatchNormalizationSelfFoldingModifier(FunctionModifier):
    """Replaces batch normalizations that use running statistics by c0 * x + c1, with new parameters.

    Args:
        name: the scope of the parameters.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.batch_normalization(nn.Variable((2, 3)), batch_stat=False)
        >>> changed = GC.GraphConverter([GC.BatchNormalizationSelfFoldingModifier()]).convert(y)
        >>> changed.visit(lambda f: print(f.info.type_name))
        Mul2
        Add2

    Source: `nnabla.experimental.graph_converters.BatchNormalizationSelfFoldingModifier` of nnabla 1.39.0.
    """

    def __init__(self, name: str = "bn-self-folding") -> None:
        super().__init__()
        self._cnt = 0
        self._name = name

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f.info.type_name != "BatchNormalization" or len(f.inputs) != 5:
            return None
        with parameter.parameter_scope(self._name):
            c0, c1 = (
                parameter.get_parameter_or_create(f"{name}-{self._name}-{self._cnt}", value.shape, value)
                for name, value in zip(("c0", "c1"), scale_and_offset(f), strict=True)
            )
        self._cnt += 1
        return c0 * inputs[0] + c1

    def __finish__(self) -> None:
        self._cnt = 0
        self._name = "bn-self-folding"
