"""A function that fixes the order of backward between Variables that do not depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import Array
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class PseudoConnect(chainer.FunctionNode):
    """Returns all inputs but the first unchanged; the gradient of the first is zeros. `pseudo_connect` applies it.

    Example:
        >>> from compatgrad.chainermn.functions.pseudo_connect import PseudoConnect
        >>> delegate, x = chainer.Variable(np.zeros(1)), chainer.Variable(np.array([3.0]))
        >>> (y,) = PseudoConnect().apply((delegate, x))
        >>> y.array.tolist()
        [3.0]

    Source: `chainermn.functions.pseudo_connect.PseudoConnect` of Chainer 7.8.1.
    """

    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """All arrays but the first."""
        delegate = inputs[0]
        self._delegate = delegate.shape, delegate.dtype, chainer.backend.get_array_module(delegate)
        return inputs[1:]

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable | None, ...]:
        """Zeros for the first input, and the outputs' gradients for the others."""
        shape, dtype, xp = self._delegate
        every = (chainer.Variable(xp.zeros(shape, dtype)), *grad_outputs)
        return tuple(every[i] for i in target_input_indexes)


def pseudo_connect(delegate_variable: Variable | None, *actual_variables: VariableOrArray) -> tuple[Variable, ...]:
    """Returns the actual variables, connected so that backward passes them before `delegate_variable`.

    Args:
        delegate_variable: the Variable that backward passes later, and whose gradient is zeros; or None.
        *actual_variables: arrays or Variables of any shape and dtype.

    Returns:
        A tuple of Variables with the same arrays.

    Raises:
        TypeError: an argument is no array and no Variable.

    Example:
        >>> delegate, x = chainer.Variable(np.zeros(1)), chainer.Variable(np.array([3.0]))
        >>> (y,) = chainermn.functions.pseudo_connect(delegate, x)
        >>> y.backward()
        >>> x.grad.tolist(), delegate.grad.tolist()
        ([1.0], [0.0])

    Source: `chainermn.functions.pseudo_connect` of Chainer 7.8.1.
    """
    chainer.utils.experimental("chainermn.functions.pseudo_connect")
    if delegate_variable is None:
        xp = chainer.backend.get_array_module(*actual_variables)
        delegate_variable = chainer.Variable(xp.empty(0, numpy.float32))
    return PseudoConnect().apply((delegate_variable, *actual_variables))
