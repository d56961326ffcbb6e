"""Joining along the first axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable

concat = frontend.bind("concat", dtype="same")
stack = frontend.bind("stack", dtype="same")


class _NumberedInputs(_native.NativeListFunction):
    """Base of functions that join arrays of one dtype and number of axes; errors call the inputs x0, x1 and so on."""

    def _equal_axes(self, ndim: int) -> Iterable[int]:
        """The axes along which all inputs must have the same length."""
        raise NotImplementedError

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].ndim == t.ndim)
            for d in self._equal_axes(ndim):
                type_check.expect(in_types[0].shape[d] == t.shape[d])


class Vstack(_native.NativeListFunction):
    documented = "vstack"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for t in in_types[1:]:
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].ndim == t.ndim)
            for d in range(1 if ndim > 1 else 0, ndim):
                type_check.expect(in_types[0].shape[d] == t.shape[d])

    def _run_bound(self, inputs):
        if inputs[0].ndim == 0:
            inputs = [_bound.reshape(x, (1,)) for x in inputs]
        return (stack if inputs[0].ndim == 1 else concat)._apply_as(self, list(inputs), 0)


def vstack(xs: VariablesOrArrays) -> Variable:
    """Variables or arrays, joined along the first axis; vectors become rows.

    Args:
        xs: at least one, all of one dtype and number of axes; matrices and larger arrays may differ in the first axis.

    Returns:
        Variable of the dtype of `xs`; a matrix for vectors, (n, 1) for numbers.

    Raises:
        chainer.utils.type_check.InvalidType: `xs` is empty, or dtypes or shapes do not fit.

    Example:
        >>> F.vstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).array
        array([[1., 2.],
               [3., 4.]])

    Source: `chainer.functions.vstack` of Chainer 7.8.1.
    """
    return Vstack().apply(tuple(xs))[0]
