"""Choice between two arrays."""

import numpy

from compatgrad.chainer import utils
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array


class Where(_native.NativeFunction):
    op = "where"

    def __init__(self, condition):
        super().__init__()
        self.condition = condition

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "y"))
        x, y = in_types
        condition = type_check._make_variable_from_array(utils.force_array(self.condition), "condition")
        type_check.expect(condition.dtype == numpy.bool_, x.dtype == y.dtype)
        type_check.expect_broadcast_shapes(condition.shape, x.shape, y.shape)

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, utils.force_array(self.condition), *inputs)


_where = frontend.bind("where", lambda condition, x, y: Where(condition).apply((x, y))[0], dtype="any")


def where(condition, x, y):
    """Elements of `x` where the boolean array `condition` is true, of `y` elsewhere, with broadcasting."""
    condition = as_array(condition)
    if getattr(condition, "dtype", None) == numpy.bool_ and x.dtype == y.dtype:
        return _where(condition, x, y)
    return Where(condition).apply((x, y))[0]
