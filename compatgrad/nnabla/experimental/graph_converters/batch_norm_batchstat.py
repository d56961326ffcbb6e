"""A converter that makes batch normalizations use running statistics."""

from __future__ import annotations

from typing import Any

from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["BatchNormBatchStatModifier"]

_NORMALIZATIONS = ("BatchNormalization", "FusedBatchNormalization", "SyncBatchNormalization")


class BatchNormBatchStatModifier(FunctionModifier):
    """Sets batch_stat=False in batch normalizations: plain, fused and over processes.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.batch_normalization(nn.Variable((2, 3)))
        >>> GC.GraphConverter([GC.BatchNormBatchStatModifier()]).convert(y).parent.info.args["batch_stat"]
        False

    Source: `nnabla.experimental.graph_converters.BatchNormBatchStatModifier` of nnabla 1.39.0.
    """

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f.info.type_name not in _NORMALIZATIONS:
            return None
        return self._call_function(f.info.type_name, inputs, {**f.info.args, "batch_stat": False})
