"""Fused batch normalizations as several functions."""

from __future__ import annotations

from typing import Any

from ... import functions as F
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["UnfusedBatchNormalizationModifier"]


class UnfusedBatchNormalizationModifier(FunctionModifier):
    """Takes fused batch normalizations apart: normalization, addition if there is a summand, ReLU."""

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f.info.type_name != "FusedBatchNormalization":
            return None
        h = self._call_function("BatchNormalization", inputs[:5], f.info.args)
        return F.relu(inputs[5] + h if len(inputs) == 6 else h)
