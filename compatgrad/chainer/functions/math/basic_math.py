"""Arithmetic: the classes behind the operators, and what the operators do off the engine's fast path."""

from __future__ import annotations

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, variable
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


def _convert_value_to_string(value):
    if isinstance(value, variable.Variable):
        value = value.array
    if numpy.isscalar(value):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, backend.get_array_types()):
        return "constant array"
    raise ValueError(f"Value must be a Variable, a scalar or an array. Actual: {type(value)}")


def _preprocess_const(x, value):
    """A scalar in the dtype of `x`."""
    return x.dtype.type(value)


def _operand(x, value):
    """The other operand of a binary operator: a Variable as it is, an array in the dtype of `x`."""
    if isinstance(value, _C.Variable):
        return value
    if not isinstance(value, backend.get_array_types()):
        raise TypeError(f"Value must be a scalar, an array or a Variable.\nActual: {type(value)}")
    return value.astype(x.dtype, copy=False)


class _Elementwise(_native.NativeFunction):
    is_elementwise = True


class _Unary(_Elementwise):
    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))


class _FloatUnary(_Elementwise):
    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))


class _Binary(_Elementwise):
    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("lhs", "rhs"))
        type_check.expect(in_types[0].dtype == in_types[1].dtype)
        type_check.expect_broadcast_shapes(in_types[0].shape, in_types[1].shape)


class _FloatBinary(_Binary):
    def check_type_forward(self, in_types):
        type_check.expect(in_types[0].dtype.kind == "f")
        super().check_type_forward(in_types)


class _Constant:
    """Functions of one input and a scalar, which takes the input's dtype."""

    _parameter = "value"

    def __init__(self, value):
        super().__init__(**{self._parameter: value})

    @property
    def value(self):
        return self.op_params[self._parameter]

    def _run_bound(self, inputs):
        value = _preprocess_const(inputs[0], self.value).item()
        return self._bound._apply_as(self, inputs[0], value)


class Neg(_Unary):
    op = "neg"
    label = "__neg__"


class Absolute(_FloatUnary):
    op = "abs"
    label = "|_|"


class Add(_Binary):
    op = "add"
    label = "_ + _"


class AddConstant(_Constant, _Unary):
    op = "add_scalar"
    label = property(lambda self: f"_ + {_convert_value_to_string(self.value)}")


class MultiAdd(_native.NativeListFunction):
    op = "add_n"
    is_elementwise = True

    def check_type_forward(self, in_types):
        for i, in_type in enumerate(in_types):
            type_check._argname((in_type,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == in_type.dtype)


class Sub(_Binary):
    op = "sub"
    label = "_ - _"


class SubFromConstant(_Constant, _Unary):
    op = "rsub_scalar"
    label = property(lambda self: f"{_convert_value_to_string(self.value)} - _")


class Mul(_FloatBinary):
    op = "mul"
    label = "_ * _"


class MulConstant(_Constant, _Unary):
    op = "mul_scalar"
    label = property(lambda self: f"_ * {_convert_value_to_string(self.value)}")


class Div(_FloatBinary):
    op = "div"
    label = "_ / _"


class DivFromConstant(_Constant, _FloatUnary):
    op = "rdiv_scalar"
    label = property(lambda self: f"{_convert_value_to_string(self.value)} / _")


class PowVarVar(_FloatBinary):
    op = "pow"
    label = "_ ** _"


class PowVarConst(_Constant, _FloatUnary):
    op = "pow_scalar"
    _parameter = "exponent"
    label = property(lambda self: f"_ ** {_convert_value_to_string(self.value)}")


class PowConstVar(_Constant, _FloatUnary):
    op = "rpow_scalar"
    _parameter = "base"
    label = property(lambda self: f"{_convert_value_to_string(self.value)} ** _")


def _one(function, *inputs):
    return function.apply(inputs)[0]


def neg(self):  # -x
    """Element-wise negation of a Variable."""
    return _one(Neg(), self)


absolute = _native.unary(
    Absolute, "Absolute value, element-wise; its gradient at 0 is 0.",
    example=("np.array([-1.5, 2.0])", "array([1.5, 2. ])"), name="absolute",
)  # fmt: skip


def add(*xs):  # lhs + rhs
    """Element-wise sum of two or more Variables, arrays or scalars, with broadcasting."""
    return _add(*xs) if len(xs) == 2 else _one(MultiAdd(), *xs)


def _add_checked(lhs, rhs):
    if numpy.isscalar(rhs):
        return _one(AddConstant(rhs), lhs)
    return _one(Add(), lhs, _operand(lhs, rhs))


_add = frontend.bind("add", _add_checked, dtype="same")


def sub(self, rhs):  # lhs - rhs
    """Element-wise difference, with broadcasting."""
    if numpy.isscalar(rhs):
        return _one(AddConstant(-rhs), self)
    return _one(Sub(), self, _operand(self, rhs))


def rsub(self, rhs):  # rhs - lhs
    """`rhs - self`."""
    if numpy.isscalar(rhs):
        return _one(SubFromConstant(rhs), self)
    return _one(Sub(), _operand(self, rhs), self)


def mul(self, rhs):  # lhs * rhs
    """Element-wise product, with broadcasting."""
    if numpy.isscalar(rhs):
        return _one(MulConstant(rhs), self)
    return _one(Mul(), self, _operand(self, rhs))


def div(self, rhs):  # lhs / rhs
    """Element-wise quotient, with broadcasting."""
    if numpy.isscalar(rhs):
        return _one(MulConstant(1.0 / rhs), self)
    return _one(Div(), self, _operand(self, rhs))


def rdiv(self, rhs):  # rhs / lhs
    """`rhs / self`."""
    if numpy.isscalar(rhs):
        return _one(DivFromConstant(rhs), self)
    return _one(Div(), _operand(self, rhs), self)


def floordiv(self, rhs):  # lhs // rhs
    """Element-wise quotient rounded down; not differentiable, as in Chainer its gradient is none."""
    from compatgrad.chainer.functions.math.floor import floor

    return floor(div(self, rhs))


def rfloordiv(self, rhs):  # rhs // lhs
    """`rhs // self`."""
    from compatgrad.chainer.functions.math.floor import floor

    return floor(rdiv(self, rhs))


def pow(self, rhs):  # lhs ** rhs
    """Element-wise power, with broadcasting."""
    if numpy.isscalar(rhs):
        return _one(PowVarConst(rhs), self)
    return _one(PowVarVar(), self, _operand(self, rhs))


def rpow(self, rhs):  # rhs ** lhs
    """`rhs ** self`."""
    if numpy.isscalar(rhs):
        return _one(PowConstVar(rhs), self)
    return _one(PowVarVar(), _operand(self, rhs), self)


def matmul(self, rhs):  # lhs @ rhs
    """Matrix product, as `chainer.functions.matmul`."""
    from compatgrad.chainer.functions.math.matmul import matmul as product

    return product(self, rhs)


def rmatmul(self, rhs):  # rhs @ lhs
    """`rhs @ self`."""
    from compatgrad.chainer.functions.math.matmul import matmul as product

    return product(rhs, self)


frontend.fallbacks.update(
    neg=neg, abs=absolute, add=add, radd=add, sub=sub, rsub=rsub, mul=mul, rmul=mul, div=div, rdiv=rdiv,
    floordiv=floordiv, rfloordiv=rfloordiv, pow=pow, rpow=rpow, matmul=matmul, rmatmul=rmatmul,
)  # fmt: skip
