"""Joining along the second axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array import vstack as _vstack
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.variable import Variable


class Hstack(_native.NativeListFunction):
    documented = "hstack"
    op = None

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() > 0)
        ndim = type_check.eval(in_types[0].ndim)
        for i, t in enumerate(in_types):
            type_check._argname((t,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == t.dtype, in_types[0].ndim == t.ndim)
            for d in range(ndim if ndim > 1 else 0):
                if d != 1:
                    type_check.expect(in_types[0].shape[d] == t.shape[d])

    def _run_bound(self, inputs):
        if inputs[0].ndim == 0:
            inputs = [_vstack.reshaped(x, (1,)) for x in inputs]
        return _vstack.concat._apply_as(self, list(inputs), 1 if inputs[0].ndim > 1 else 0)


def hstack(xs: VariablesOrArrays) -> Variable:
    """Variables or arrays, joined along the second axis, or along the only one.

    Args:
        xs: at least one, all of one dtype and number of axes, and of one shape but for that axis.

    Returns:
        Variable of the dtype of `xs`, at least 1 axis.

    Raises:
        chainer.utils.type_check.InvalidType: `xs` is empty, or dtypes or shapes do not fit.

    Example:
        >>> F.hstack([np.array([1.0, 2.0]), np.array([3.0])]).array
        array([1., 2., 3.])

    Source: `chainer.functions.hstack` of Chainer 7.8.1.
    """
    return Hstack().apply(tuple(xs) if isinstance(xs, _C.Variable) else xs)[0]
