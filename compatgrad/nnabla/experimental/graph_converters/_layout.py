"""Base class of the converters that change the position of the channel axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import parameter
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["LayoutModifier"]


class LayoutModifier(FunctionModifier):
    """Moves the channel axis of images and weights. Supported are graphs of functions of images, which may end in
    affine functions.

    Subclasses define the `_order` of the four axes, the `_suffix` of the names of new parameters, and `_channel_last`,
    whether the result has channels last.
    """

    _order: tuple[int, ...]
    _suffix: str
    _channel_last: bool

    def __init__(self, inputs: Sequence[Variable], moved: Sequence[Variable] | None = None) -> None:
        super().__init__()
        self._inputs = list(inputs)
        self._moved = self._prepare_inputs(inputs, moved)

    def _prepare_inputs(self, inputs: Sequence[Variable], moved: Sequence[Variable] | None) -> list[Variable]:
        if moved is None:
            moved = [Variable.from_numpy_array(x.d.transpose(self._order)) for x in inputs]
        for old, new in zip(inputs, moved, strict=True):
            for reader in old.function_references:
                self.init_map_func_inputs(reader, [new if x == old else x for x in reader.inputs])
        return list(moved)

    def _axis(self, axis: int) -> int:
        return self._order.index(axis % 4)

    def _parameter(self, name: str, v: Variable, value: np.ndarray) -> Variable:
        with parameter.parameter_scope(self.get_parameter_scope(v)):
            return parameter.get_parameter_or_create(name, value.shape, np.ascontiguousarray(value), v.need_grad)

    def _moved_parameter(self, name: str, v: Variable) -> Variable:
        return self._parameter(name, v, v.d.transpose(self._order))

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        type_name, args = f.info.type_name, dict(f.info.args)
        if type_name in ("Convolution", "Deconvolution"):
            inputs = [inputs[0], self._moved_parameter(f"W_{self._suffix}", inputs[1]), *inputs[2:]]
        elif type_name == "BatchNormalization" and inputs[0].ndim == 4:
            args["axes"] = [self._axis(axis) for axis in args["axes"]]
            names = ("beta", "gamma", "mean", "var")
            inputs = [
                inputs[0],
                *(
                    self._moved_parameter(f"{name}_{self._suffix}", v)
                    for name, v in zip(names, inputs[1:], strict=False)
                ),
            ]
        elif type_name == "Concatenate" and inputs[0].ndim == 4:
            args["axis"] = self._axis(args["axis"])
        elif type_name == "Affine" and inputs[0].ndim == 4 and args["base_axis"] == 1:
            inputs = [inputs[0], self._affine_weights(f), *inputs[2:]]
        elif "channel_last" not in args:
            return None
        if "channel_last" in args:
            args["channel_last"] = self._channel_last
        return self._call_function(type_name, inputs, args)

    def _affine_weights(self, f: Any) -> Variable:
        """Weights of an affine layer whose rows are in the order of the features of an image in the new layout."""
        x, w = f.inputs[:2]
        rows = w.d.reshape(*x.shape[1:], *w.shape[1:])
        order = [axis - 1 for axis in self._order[1:]]
        moved = rows.transpose(*order, *range(3, rows.ndim)).reshape(w.shape)
        return self._parameter(f"w_{self._suffix}", w, moved)

    def __finish__(self) -> None:
        self._prepare_inputs(self._inputs, self._moved)
