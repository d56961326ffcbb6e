"""A converter to graphs for inference."""

from __future__ import annotations

from collections.abc import Sequence

from .batch_norm_batchstat import BatchNormBatchStatModifier
from .graph_converter import FunctionModifier
from .remove_function import RemoveFunctionModifier

__all__ = ["TestModeModifier"]


class TestModeModifier:
    """A list of modifiers for inference: one that makes batch normalizations use running statistics, and one that
    removes functions of some types.

    Args:
        rm_funcs: the names of the types to remove.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = F.dropout(PF.batch_normalization(nn.Variable((2, 3))))
        >>> test = GC.GraphConverter([GC.TestModeModifier(["Dropout"])]).convert(y)
        >>> test.parent.info.type_name, test.parent.info.args["batch_stat"]
        ('BatchNormalization', False)

    Source: `nnabla.experimental.graph_converters.TestModeModifier` of nnabla 1.39.0.
    """

    __test__ = False  # tells pytest that this class contains no tests

    def __new__(cls, rm_funcs: Sequence[str] = ()) -> list[FunctionModifier]:  # type: ignore[misc]
        return [BatchNormBatchStatModifier(), RemoveFunctionModifier(rm_funcs)]
