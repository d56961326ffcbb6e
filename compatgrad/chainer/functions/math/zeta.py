"""Hurwitz zeta function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Zeta(_native.NativeFunction):
    op = "zeta"
    label = "zeta"

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types[-1:], ("q",))
        type_check.expect(in_types[-1].dtype.kind == "f")


def zeta(x: VariableOrArray | float, q: VariableOrArray) -> Variable:
    """Hurwitz's zeta function, the sum of (k + q) ** -x for k = 0, 1, ..., with broadcasting; it can be differentiated
    with respect to `q`.

    Args:
        x: a number or an array, above 1.
        q: floating, any shape, positive.

    Returns:
        Variable of the dtype of `q` and the common shape.

    Raises:
        TypeError: `q` is neither a Variable nor an array.
        chainer.utils.type_check.InvalidType: `q` is not floating-point.

    Example:
        >>> F.zeta(2.0, np.array([1.0, 2.0])).array
        array([1.64493407, 0.64493407])

    Source: `chainer.functions.zeta` of Chainer 7.8.1.
    """
    x = backend.get_array_module(q).asarray(as_array(x), dtype=getattr(q, "dtype", None))
    return Zeta().apply((x, q))[0]
