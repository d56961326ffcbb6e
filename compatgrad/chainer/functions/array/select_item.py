"""One element of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class SelectItem(_native.NativeFunction):
    op = "select_item"

    @type_check._expects
    def check_type_forward(self, x, t):
        return t.dtype.kind == "i", x.ndim == 2, t.ndim == 1, x.shape[0] == t.shape[0]

    def _run_bound(self, inputs):
        x, t = inputs
        if _C.get_mode("debug"):
            t = t.array if isinstance(t, _C.Variable) else t
            if not ((0 <= t).all() and (t < x.shape[1]).all()):
                raise ValueError(
                    "Each label `t` needs to satisfy `0 <= t < x.shape[1]`. "
                    f"Actual: {t.min()} to {t.max()}, {x.shape[1]} classes"
                )
        return super()._run_bound(inputs)


_select_item = frontend.bind("select_item", lambda x, t: SelectItem().apply((x, t))[0], dtype="any")


def select_item(x: VariableOrArray, t: VariableOrArray) -> Variable:
    """One element of each row: `x[i, t[i]]`.

    Args:
        x: (n, c), any dtype.
        t: int, (n,): labels; negative ones count from the last column.

    Returns:
        Variable (n,) of the dtype of `x`.

    Raises:
        IndexError: a label is out of range.
        ValueError: in debug mode: a label is negative or out of range.
        chainer.utils.type_check.InvalidType: shapes do not fit, or `t` is not of ints.

    Example:
        >>> F.select_item(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])).array
        array([2., 3.])

    Source: `chainer.functions.select_item` of Chainer 7.8.1.
    """
    if t.dtype.kind == "i" and x.ndim == 2 and t.ndim == 1 and len(x) == len(t) and not _C.get_mode("debug"):
        return _select_item(x, t)
    return SelectItem().apply((x, t))[0]
