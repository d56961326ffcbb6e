"""Arithmetic: the classes of the operators' nodes, and the operators for inputs that the engine's fast path does not
take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, variable
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Operand, VariableOrArray
    from compatgrad.chainer.variable import Variable

_F = TypeVar("_F", bound=Callable[..., Any])


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


def _node(expression: str, label: str | None = None) -> Callable[[_F], _F]:
    """Decorator that sets a class's docstring. `expression` is what a program writes; `label` defaults to it with _ for
    x."""

    def document(cls: _F) -> _F:
        argument = "value: the scalar; it takes the dtype of the input."
        if not issubclass(cls, _Constant):
            argument = "**params: none; the engine hands over the op's parameters."
        cls.__doc__ = _NODE.format(
            expression=expression, label=label or expression.replace("x", "_"), argument=argument, name=cls.__name__
        )
        return cls

    return document


_NODE = """The node of `{expression}` in the graph, its result's `creator`.

    Args:
        {argument}

    Example:
        >>> x = chainer.Variable(np.array([1.0, 2.0]))
        >>> ({expression}).creator.label
        {label!r}

    Source: `chainer.functions.math.basic_math.{name}` of Chainer 7.8.1.
    """


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
        type_check._argname(in_types, ("lhs", "rhs"))
        type_check.expect(in_types[0].dtype.kind == "f")
        super().check_type_forward(in_types)


class _Constant:
    """Base of functions of one input and a scalar, which takes the input's dtype; `_text` is the label, in which {}
    stands for the scalar."""

    _parameter = "value"
    _text = "{}"

    def __init__(self, value: Any) -> None:
        super().__init__(**{self._parameter: value})

    @property
    def label(self):
        return self._text.format(_convert_value_to_string(self.value))

    @property
    def value(self):
        return self.op_params[self._parameter]

    def _run_bound(self, inputs):
        value = _preprocess_const(inputs[0], self.value).item()
        return self._bound._apply_as(self, inputs[0], value)


@_node("-x", "__neg__")
class Neg(_Unary):
    op = "neg"
    label = "__neg__"


class Absolute(_FloatUnary):
    op = "abs_or_nan"
    label = "|_|"


@_node("x + x")
class Add(_Binary):
    op = "add"
    label = "_ + _"


@_node("x + 3")
class AddConstant(_Constant, _Unary):
    op = "add_scalar"
    _text = "_ + {}"


@_node("F.add(x, x, x)", "MultiAdd")
class MultiAdd(_native.NativeListFunction):
    op = "add_n"
    is_elementwise = True

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        for i, in_type in enumerate(in_types):
            type_check._argname((in_type,), (f"x{i}",))
            type_check.expect(in_types[0].dtype == in_type.dtype)


@_node("x - x")
class Sub(_Binary):
    op = "sub"
    label = "_ - _"


@_node("3 - x")
class SubFromConstant(_Constant, _Unary):
    op = "rsub_scalar"
    _text = "{} - _"


@_node("x * x")
class Mul(_FloatBinary):
    op = "mul"
    label = "_ * _"


@_node("x * 3")
class MulConstant(_Constant, _Unary):
    op = "mul_scalar"
    _text = "_ * {}"


@_node("x / x")
class Div(_FloatBinary):
    op = "div"
    label = "_ / _"


@_node("3 / x")
class DivFromConstant(_Constant, _FloatUnary):
    op = "rdiv_scalar"
    _text = "{} / _"


@_node("x ** x")
class PowVarVar(_FloatBinary):
    op = "pow"
    label = "_ ** _"


@_node("x ** 3")
class PowVarConst(_Constant, _FloatUnary):
    op = "pow_scalar"
    _parameter = "exponent"
    _text = "_ ** {}"


@_node("3 ** x")
class PowConstVar(_Constant, _FloatUnary):
    op = "rpow_scalar"
    _parameter = "base"
    _text = "{} ** _"


def _one(function, *inputs):
    return function.apply(inputs)[0]


def _operator(
    formula: str,
    example: str,
    result: str,
    rhs: str = "a Variable; or an array or a scalar, which takes the dtype of `self`.",
    invalid: str = "dtypes differ, or shapes cannot be broadcast.",
) -> Callable[[_F], _F]:
    """Decorator that sets the docstring of an operator's function. `example` is an expression of the Variable `x` of
    [1, 4] and `result` what it shows; `invalid` says which inputs raise InvalidType.
    """

    def document(f: _F) -> _F:
        f.__doc__ = _OPERATOR.format(
            formula=formula, name=f.__name__, rhs=rhs, invalid=invalid, example=example, result=result
        )
        return f

    return document


_OPERATOR = """{formula}.

    Args:
        self: Variable or array, any shape.
        rhs: {rhs}

    Returns:
        Variable of the dtype of `self`.

    Raises:
        TypeError: `rhs` is none of these.
        chainer.utils.type_check.InvalidType: {invalid}

    Example:
        >>> x = chainer.Variable(np.array([1.0, 4.0]))
        >>> {example}
        {result}

    Source: `chainer.functions.math.basic_math.{name}` of Chainer 7.8.1.
    """
_NO_FLOATS = "dtypes differ or an array's is not floating-point, or shapes cannot be broadcast."
_NEVER_INTS = "dtypes differ or are not floating-point, or shapes cannot be broadcast."
_MATRIX = "a Variable; or an array, which takes the dtype of `self`."
_NO_PRODUCT = "they are not floating-point, or shapes do not fit."


def neg(self: VariableOrArray) -> Variable:  # -x
    """Negation, element-wise.

    Args:
        self: Variable or array, any shape.

    Returns:
        Variable of the shape and dtype of `self`.

    Raises:
        TypeError: `self` is neither a Variable nor an array.

    Example:
        >>> -chainer.Variable(np.array([1.0, -2.0]))
        variable([-1.,  2.])

    Source: `chainer.functions.math.basic_math.neg` of Chainer 7.8.1.
    """
    return _one(Neg(), self)


absolute = _native.unary_function(
    Absolute, "Absolute value, element-wise; its gradient at 0 is 0.", "[-1.5, 2.0]", "[1.5, 2. ]", name="absolute"
)


def add(*xs: Operand) -> Variable:  # lhs + rhs
    """Element-wise sum, with broadcasting.

    Args:
        *xs: Variables or arrays of one dtype. Of two, the second may be a scalar, or an array of another dtype, which
            takes the dtype of the first.

    Returns:
        Variable of the dtype of the first and the common shape.

    Raises:
        TypeError: one of them is of another kind.
        ValueError: no Variables are given.
        chainer.utils.type_check.InvalidType: dtypes differ, or shapes cannot be broadcast.

    Example:
        >>> F.add(np.array([1.0, 2.0]), np.array([[10.0], [20.0]])).array
        array([[11., 12.],
               [21., 22.]])

    Source: `chainer.functions.add` of Chainer 7.8.1.
    """
    return _add(*xs) if len(xs) == 2 else _one(MultiAdd(), *xs)


def _add_checked(lhs, rhs):
    if numpy.isscalar(rhs):
        return _one(AddConstant(rhs), lhs)
    return _one(Add(), lhs, _operand(lhs, rhs))


_add = frontend.bind("add", _add_checked, dtype="same")


@_operator("`self - rhs`, element-wise, with broadcasting", "x - 3", "variable([-2.,  1.])")
def sub(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(AddConstant(-rhs), self)
    return _one(Sub(), self, _operand(self, rhs))


@_operator("`rhs - self`, element-wise, with broadcasting", "3 - x", "variable([ 2., -1.])")
def rsub(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(SubFromConstant(rhs), self)
    return _one(Sub(), _operand(self, rhs), self)


@_operator("`self * rhs`, element-wise, with broadcasting", "x * 3", "variable([ 3., 12.])", invalid=_NO_FLOATS)
def mul(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(MulConstant(rhs), self)
    return _one(Mul(), self, _operand(self, rhs))


@_operator("`self / rhs`, element-wise, with broadcasting", "x / 2", "variable([0.5, 2. ])", invalid=_NO_FLOATS)
def div(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(MulConstant(1.0 / rhs), self)
    return _one(Div(), self, _operand(self, rhs))


@_operator("`rhs / self`, element-wise, with broadcasting", "2 / x", "variable([2. , 0.5])", invalid=_NEVER_INTS)
def rdiv(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(DivFromConstant(rhs), self)
    return _one(Div(), _operand(self, rhs), self)


@_operator("`self / rhs`, rounded down; no gradient", "x // 3", "variable([0., 1.])", invalid=_NO_FLOATS)
def floordiv(self: VariableOrArray, rhs: Operand) -> Variable:
    from compatgrad.chainer.functions.math.floor import floor

    return floor(div(self, rhs))


@_operator("`rhs / self`, rounded down; no gradient", "6 // x", "variable([6., 1.])", invalid=_NEVER_INTS)
def rfloordiv(self: VariableOrArray, rhs: Operand) -> Variable:
    from compatgrad.chainer.functions.math.floor import floor

    return floor(rdiv(self, rhs))


@_operator("`self ** rhs`, element-wise, with broadcasting", "x**2", "variable([ 1., 16.])", invalid=_NEVER_INTS)
def pow(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(PowVarConst(rhs), self)
    return _one(PowVarVar(), self, _operand(self, rhs))


@_operator("`rhs ** self`, element-wise, with broadcasting", "2**x", "variable([ 2., 16.])", invalid=_NEVER_INTS)
def rpow(self: VariableOrArray, rhs: Operand) -> Variable:
    if numpy.isscalar(rhs):
        return _one(PowConstVar(rhs), self)
    return _one(PowVarVar(), _operand(self, rhs), self)


def _factor(x, value):
    """The other operand of a matrix product: an array in the dtype of `x`."""
    return _operand(x, value) if isinstance(value, backend.get_array_types()) else value


@_operator("`self @ rhs`, the matrix product", "x @ x", "variable(17.)", rhs=_MATRIX, invalid=_NO_PRODUCT)
def matmul(self: VariableOrArray, rhs: VariableOrArray) -> Variable:
    from compatgrad.chainer.functions.math.matmul import matmul as product

    return product(self, _factor(self, rhs))


@_operator("`rhs @ self`, the matrix product", "np.eye(2) @ x", "variable([1., 4.])", rhs=_MATRIX, invalid=_NO_PRODUCT)
def rmatmul(self: VariableOrArray, rhs: VariableOrArray) -> Variable:
    from compatgrad.chainer.functions.math.matmul import matmul as product

    return product(_factor(self, rhs), self)


frontend.fallbacks.update(
    neg=neg, abs=absolute, add=add, radd=add, sub=sub, rsub=rsub, mul=mul, rmul=mul, div=div, rdiv=rdiv,
    floordiv=floordiv, rfloordiv=rfloordiv, pow=pow, rpow=rpow, matmul=matmul, rmatmul=rmatmul,
)  # fmt: skip
