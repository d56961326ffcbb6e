"""Trigonometric functions and their inverses; angles are radians."""

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.cast import promoted
from compatgrad.chainer.utils import type_check


class Sin(_native.NamedElementwise):
    op = "sin"


class Cos(_native.NamedElementwise):
    op = "cos"


class Tan(_native.NamedElementwise):
    op = "tan"


class Arcsin(_native.NamedElementwise):
    op = "arcsin"


class Arccos(_native.NamedElementwise):
    op = "arccos"


class Arctan(_native.NamedElementwise):
    op = "arctan"


class Arctan2(_native.NamedElementwise):
    op = "arctan2"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x1", "x2"))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[1].dtype.kind == "f")

    def _run_bound(self, inputs):
        return self._bound._apply_as(self, *promoted(*inputs))


sin = _native.unary(Sin, doc="Element-wise sine.")
cos = _native.unary(Cos, doc="Element-wise cosine.")
tan = _native.unary(Tan, doc="Element-wise tangent.")
arcsin = _native.unary(Arcsin, doc="Element-wise arcsine.")
arccos = _native.unary(Arccos, doc="Element-wise arccosine.")
arctan = _native.unary(Arctan, doc="Element-wise arctangent.")
arctan2 = frontend.bind(
    "arctan2", lambda x1, x2: Arctan2().apply((x1, x2))[0], module=__name__,
    doc="Element-wise angle of the points (x2, x1).",
)  # fmt: skip
