"""Base class of the functions of square matrices, which NumPy or CuPy computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, function_node, utils
from compatgrad.chainer.utils import precision, type_check

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray


class SquareMatrixFunction(function_node.FunctionNode):
    """A function of one floating array of `ndim` axes, the last two of which have the same length."""

    ndim = 2
    argument = "a"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, (self.argument,))
        a = in_types[0]
        type_check.expect(a.dtype.kind == "f", a.ndim == self.ndim, a.shape[-1] == a.shape[-2])

    @precision._fp16_mixed_precision_helper
    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return (utils.force_array(self._compute(backend.get_array_module(*inputs).linalg, inputs[0])),)
