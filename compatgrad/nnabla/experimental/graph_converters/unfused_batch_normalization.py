"""A converter that splits fused batch normalizations."""

from __future__ import annotations

from typing import Any

from ... import functions as F
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["UnfusedBatchNormalizationModifier"]


class UnfusedBatchNormalizationModifier(FunctionModifier):
    """Splits fused batch normalizations into a normalization, an addition if there is a summand, and a ReLU.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.fused_batch_normalization(nn.Variable((2, 3)))
        >>> changed = GC.GraphConverter([GC.UnfusedBatchNormalizationModifier()]).convert(y)
        >>> changed.visit(lambda f: print(f.info.type_name))
        BatchNormalization
        ReLU

    Source: `nnabla.experimental.graph_converters.UnfusedBatchNormalizationModifier` of nnabla 1.39.0.
    """

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f.info.type_name != "FusedBatchNormalization":
            return None
        h = self._call_function("BatchNormalization", inputs[:5], f.info.args)
        return F.relu(inputs[5] + h if len(inputs) == 6 else h)
