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


sin = _native.unary(
    Sin, "Sine of angles in radians, element-wise.",
    example=("np.array([0.0, np.pi / 6])", "array([0. , 0.5])"),
)  # fmt: skip
cos = _native.unary(
    Cos, "Cosine of angles in radians, element-wise.",
    example=("np.array([0.0, np.pi / 3])", "array([1. , 0.5])"),
)  # fmt: skip
tan = _native.unary(
    Tan, "Tangent of angles in radians, element-wise.",
    example=("np.array([0.0, np.pi / 4])", "array([0., 1.])"),
)  # fmt: skip
arcsin = _native.unary(
    Arcsin, "Angle in [-pi/2, pi/2] whose sine is `x`, element-wise; nan outside [-1, 1].",
    example=("np.array([0.0, 1.0])", "array([0.        , 1.57079633])"),
)  # fmt: skip
arccos = _native.unary(
    Arccos, "Angle in [0, pi] whose cosine is `x`, element-wise; nan outside [-1, 1].",
    example=("np.array([0.0, 1.0])", "array([1.57079633, 0.        ])"),
)  # fmt: skip
arctan = _native.unary(
    Arctan, "Angle in (-pi/2, pi/2) whose tangent is `x`, element-wise.",
    example=("np.array([0.0, 1.0])", "array([0.        , 0.78539816])"),
)  # fmt: skip
arctan2 = frontend.bind(
    "arctan2", lambda x1, x2: Arctan2().apply((x1, x2))[0], module=__name__,
    doc="Element-wise angle of the points (x2, x1).",
)  # fmt: skip
