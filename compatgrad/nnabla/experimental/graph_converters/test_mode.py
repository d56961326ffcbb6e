"""Graphs for inference."""

from __future__ import annotations

from collections.abc import Sequence

from .batch_norm_batchstat import BatchNormBatchStatModifier
from .graph_converter import FunctionModifier
from .remove_function import RemoveFunctionModifier

__all__ = ["TestModeModifier"]


class TestModeModifier:
    """A list of modifiers: batch normalizations by running statistics, and without functions of types `rm_funcs`."""

    __test__ = False  # no class of tests, whatever its name

    def __new__(cls, rm_funcs: Sequence[str] = ()) -> list[FunctionModifier]:  # type: ignore[misc]
        return [BatchNormBatchStatModifier(), RemoveFunctionModifier(rm_funcs)]
