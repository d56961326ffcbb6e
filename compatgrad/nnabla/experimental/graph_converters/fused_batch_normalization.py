"""A converter that fuses batch normalization, addition and ReLU."""

from __future__ import annotations

from typing import Any

from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["FusedBatchNormalizationModifier"]


class FusedBatchNormalizationModifier(FunctionModifier):
    """Replaces a batch normalization, an addition to its result and a ReLU of the sum by one function, unless another
    function reads an intermediate result.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> x = nn.Variable((2, 3))
        >>> y = F.relu(PF.batch_normalization(F.exp(x)) + x)
        >>> changed = GC.GraphConverter([GC.FusedBatchNormalizationModifier()]).convert(y)
        >>> changed.visit(lambda f: print(f.info.type_name))
        Exp
        FusedBatchNormalization

    Source: `nnabla.experimental.graph_converters.FusedBatchNormalizationModifier` of nnabla 1.39.0.
    """

    def __init__(self) -> None:
        super().__init__()
        self._norms: dict[Any, tuple[Any, list[Variable]]] = {}  # addition -> normalization, new parameters
        self._sums: dict[Any, tuple[Any, list[Variable]]] = {}  # ReLU -> normalization, parameters, summand

    @staticmethod
    def _only_reader(f: Any, type_name: str) -> Any:
        readers = f.outputs[0].function_references
        return readers[0] if len(readers) == 1 and readers[0].info.type_name == type_name else None

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f.info.type_name == "BatchNormalization" and len(inputs) == 5:
            addition = self._only_reader(f, "Add2")
            if addition is None or addition in self._norms or self._only_reader(addition, "ReLU") is None:
                return None
            self._norms[addition] = f, inputs[1:]
            return inputs[0]
        if f in self._norms:
            norm, parameters = self._norms[f]
            at = 0 if f.inputs[0] == norm.outputs[0] else 1
            self._sums[self._only_reader(f, "ReLU")] = norm, [*parameters, inputs[1 - at]]
            return inputs[at]
        if f in self._sums:
            norm, parameters = self._sums[f]
            return self._call_function(
                "FusedBatchNormalization", [inputs[0], *parameters], {**norm.info.args, "nonlinearity": "relu"}
            )
        return None

    def __finish__(self) -> None:
        self._norms, self._sums = {}, {}
