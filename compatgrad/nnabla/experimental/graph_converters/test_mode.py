"""Graphs for inference."""

from __future__ import annotations

from collections.abc import Sequence

from .batch_norm_batchstat import BatchNormBatchStatModifier
from .graph_converter import FunctionModifier
from .remove_function import RemoveFunctionModifier

__all__ = ["TestModeModifier"]


class TestModeModifier:
    """A list of modifiers for inference: batch normalizations by running statistics, and no functions of some types.

    Args:
        rm_funcs: the names of the types that are left out.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = F.dropout(PF.batch_normalization(nn.Variable((2, 3))))
        >>> test = GC.GraphConverter([GC.TestModeModifier(["Dropout"])]).convert(y)
        >>> test.parent.info.type_name, test.parent.info.args["batch_stat"]
        ('BatchNormalization', False)

    Source: `nnabla.experimental.graph_converters.TestModeModifier` of nnabla 1.39.0.
    """

    __test__ = False  # no class of tests, whatever its name

    def __new__(cls, rm_funcs: Sequence[str] = ()) -> list[FunctionModifier]:  # type: ignore[misc]
        return [BatchNormBatchStatModifier(), RemoveFunctionModifier(rm_funcs)]
