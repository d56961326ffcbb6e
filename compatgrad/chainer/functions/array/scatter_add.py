"""Addition at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.chainer.functions.array.get_item import _Indexed
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class ScatterAdd(_Indexed):
    op = "scatter_add"

    @type_check._expects
    def check_type_forward(self, a, b):
        return a.ndim >= sum(s is not None for s in self.slices)

    def _run_bound(self, inputs):
        a, b = inputs
        array = a.array if isinstance(a, _C.Variable) else a
        if array[self.slices].shape != b.shape:
            raise ValueError(
                "Chainer does not support automatic broadcasting of variables. "
                f"Actual shapes: {array[self.slices].shape} of the slices, {b.shape} of b"
            )
        return super()._run_bound(inputs)


def scatter_add(a: VariableOrArray, slices: Any, b: VariableOrArray) -> Variable:
    """A copy of `a` to which `b` is added at `a[slices]`.

    Args:
        a: any dtype and shape.
        slices: as in `get_item`; where an element is selected several times, all values are added to it.
        b: of the shape of `a[slices]`; it takes the dtype of `a`.

    Returns:
        Variable of the shape and dtype of `a`.

    Raises:
        ValueError: `b` has another shape.
        IndexError: an index is out of range.
        chainer.utils.type_check.InvalidType: there are more indices than axes.

    Example:
        >>> F.scatter_add(np.zeros(3), ([0, 2, 2],), np.array([1.0, 2.0, 3.0])).array
        array([1., 0., 5.])

    Source: `chainer.functions.scatter_add` of Chainer 7.8.1.
    """
    return ScatterAdd(slices).apply((a, b))[0]
