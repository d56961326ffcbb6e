"""A converter that sets the weights of unimportant channels to 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import parameter
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["PruningModifier"]

_OUTPUT_AXIS = {
    "Convolution": 0,
    "Deconvolution": 1,
    "DepthwiseConvolution": 0,
    "DepthwiseDeconvolution": 0,
    "Affine": 1,
}


class PruningModifier(FunctionModifier):
    """Sets the weights and biases of output channels to 0 whose weights are small.

    The result has new parameters, "w-pruned" and "b-pruned", next to the old ones.

    Args:
        pruning_threshold: a channel is pruned where the sum of squares of its weights is at most this number.
        functions_to_prune: the names of the types of functions that are pruned.
        channel_last: whether the weights of deconvolutions have the output channels in the last axis.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.affine(nn.Variable((2, 3)), 2, w_init=np.array([[1, 0.1]] * 3))
        >>> GC.GraphConverter([GC.PruningModifier(0.5)]).convert(y).parent.inputs[1].d
        array([[1., 0.],
               [1., 0.],
               [1., 0.]])

    Source: `nnabla.experimental.graph_converters.PruningModifier` of nnabla 1.39.0.
    """

    def __init__(
        self,
        pruning_threshold: float,
        functions_to_prune: Sequence[str] = tuple(_OUTPUT_AXIS),
        channel_last: bool = False,
    ) -> None:
        super().__init__()
        self._channel_last = channel_last
        self._pruning_threshold = pruning_threshold
        self._types = {name for name in functions_to_prune if name in _OUTPUT_AXIS}

    def calculate_axis(self, f: Any) -> int:
        """The axis of output channels in the weights of the function `f`. Raises KeyError for a function without
        weights."""
        type_name = f.info.type_name
        return -1 if type_name == "Deconvolution" and self._channel_last else _OUTPUT_AXIS[type_name]

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f.info.type_name not in self._types:
            return None
        w = inputs[1].d
        others = tuple(i for i in range(w.ndim) if i != self.calculate_axis(f) % w.ndim)
        mask = np.sum(w**2, axis=others, keepdims=True) > self._pruning_threshold
        values = [("w-pruned", w * mask)]
        if len(inputs) == 3:
            values.append(("b-pruned", inputs[2].d * mask.reshape(-1)))
        with parameter.parameter_scope(self.get_parameter_scope(inputs[1])):
            pruned = [parameter.get_parameter_or_create(name, v.shape, v, True, True) for name, v in values]
        return self._call_function(f.info.type_name, [inputs[0], *pruned], f.info.args)
