"""The identity function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import function_node
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray, VariablesOrArrays
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class Identity(_native.NativeFunction):
    op = "identity"

    def apply(self, inputs: VariablesOrArrays) -> tuple[Variable, ...]:
        # The op takes one input; identity of several inputs is a node in Python.
        return super().apply(inputs) if len(inputs) == 1 else function_node.FunctionNode.apply(self, inputs)

    def forward(self, xs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        return xs

    def backward(
        self, target_input_indexes: Sequence[int], grad_outputs: Sequence[Variable | None]
    ) -> tuple[Variable | None, ...]:
        return grad_outputs


_identity = frontend.bind("identity", lambda x: Identity().apply((x,))[0], dtype="any")


def identity(*inputs: VariableOrArray) -> Variable | tuple[Variable, ...]:
    """The inputs as new Variables in the graph.

    Args:
        *inputs: any number, dtypes and shapes.

    Returns:
        Variable; of several inputs or none, a tuple of them.

    Raises:
        TypeError: an input is neither a Variable nor an array.

    Example:
        >>> F.identity(np.array([1.0, 2.0])).array
        array([1., 2.])

    Source: `chainer.functions.identity` of Chainer 7.8.1.
    """
    if len(inputs) == 1:
        return _identity(inputs[0])
    return Identity().apply(inputs)
