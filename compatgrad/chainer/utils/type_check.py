"""Checks of the types of functions' inputs, written as expressions that are evaluated later.

In the full mode ``in_types[0].ndim == 2`` builds a tree, so that a check that fails can show both the
expression and the values. In the light mode (`light_mode`) the same code runs on the arrays themselves: this is fast,
but only finds out whether something is wrong. Mirrors ``chainer.utils.type_check``.
"""

from __future__ import annotations

import contextlib  # noqa: F401  programs find it here, as in Chainer
import functools
import inspect
import math
import operator
import threading  # noqa: F401  programs find it here, as in Chainer
from collections.abc import Iterable
from typing import Any

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.utils._type_expressions import (  # noqa: F401 (programs find them here)
    Atom,
    BinaryOperator,
    BoolBinaryOperator,
    Call,
    Constant,
    Expr,
    GetAttr,
    GetItem,
    InvalidType,
    LightMode,
    Testable,
    UnaryOperator,
    Variable,
    _eval_expr,
    _repr,
    _str_subscript,
    _thread_local,
    get_function_check_context,
    in_light_mode,
    light_mode,
)


class TypeInfo:
    """Shape and dtype of an array: attributes `shape`, `dtype` and `ndim`.

    Args:
        shape: the shape.
        dtype: the dtype; None for an input that is None.

    Example:
        >>> info = chainer.utils.type_check.TypeInfo((2, 3), np.dtype("f"))
        >>> info.ndim, info.size
        (2, 6)

    Source: `chainer.utils.type_check.TypeInfo` of Chainer 7.8.1.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


class TypeInfoTuple(tuple):
    """The types of all inputs in the full mode: expressions of `TypeInfo`. Its attribute `name` is its name in
    messages.

    Args:
        iterable: the expressions.

    Example:
        >>> types = chainer.utils.type_check.get_types((np.zeros((2, 3)),), "in_types", False)
        >>> print(types.size() == 1, types[0].shape)
        in_types.size == 1 in_types[0].shape

    Source: `chainer.utils.type_check.TypeInfoTuple` of Chainer 7.8.1.
    """

    name = None

    def size(self) -> Variable:
        """An expression of the number of inputs."""
        return Variable(len(self), f"{self.name}.size")


class LightTypeInfoTuple(tuple):
    """The types of all inputs in the light mode: the arrays themselves, or a `TypeInfo` for each.

    Args:
        iterable: the arrays.

    Example:
        >>> types = chainer.utils.type_check.get_light_types((np.zeros((2, 3)),))
        >>> types.size(), types[0].shape
        (1, (2, 3))

    Source: `chainer.utils.type_check.LightTypeInfoTuple` of Chainer 7.8.1.
    """

    def size(self) -> int:
        """The number of inputs."""
        return len(self)


def get_types(
    data: tuple[Any, ...], name: str, accept_none: bool, *, shapes: Iterable[Any] | None = None
) -> TypeInfoTuple:
    """The types of arrays as expressions, for checks in the full mode.

    Args:
        data: the arrays.
        name: name of the tuple in messages; its elements are `name[i]`.
        accept_none: whether an element may be None, which counts as shape () and dtype None.
        shapes: shapes to use instead of the arrays' own.

    Returns:
        The expressions.

    Raises:
        AssertionError: `data` is no tuple, or an element is no array.
        ValueError: `shapes` has another length than `data`.

    Example:
        >>> types = chainer.utils.type_check.get_types((np.zeros((2, 3)),), "in_types", False)
        >>> chainer.utils.type_check.expect(types[0].ndim == 3)
        Traceback (most recent call last):
          ...
        compatgrad.chainer.utils.type_check.InvalidType: Expect: in_types[0].ndim == 3
        Actual: 2 != 3

    Source: `chainer.utils.type_check.get_types` of Chainer 7.8.1.
    """
    assert isinstance(data, tuple)
    if shapes is None:
        shapes = [None if x is None else x.shape for x in data]
    types = TypeInfoTuple(
        _get_type(f"{name}[{i}]", x, shape, accept_none) for i, (x, shape) in enumerate(zip(data, shapes, strict=True))
    )
    types.name = name
    return types


def _get_type(name, array, shape, accept_none):
    if array is None and accept_none:
        return Variable(TypeInfo((), None), name)
    assert isinstance(array, backend.get_array_types()), f"{name} is not an array: {type(array)}"
    return Variable(TypeInfo(shape, array.dtype), name)


def get_light_types(data: tuple[Any, ...], *, shapes: Iterable[Any] | None = None) -> LightTypeInfoTuple:
    """The types of arrays for checks in the light mode.

    Args:
        data: the arrays.
        shapes: shapes to use instead of the arrays' own.

    Returns:
        The arrays, or a `TypeInfo` for each where shapes are given.

    Raises:
        AssertionError: `data` is no tuple.
        ValueError: `shapes` has another length than `data`.

    Example:
        >>> chainer.utils.type_check.get_light_types((np.zeros(2),))[0].dtype
        dtype('float64')

    Source: `chainer.utils.type_check.get_light_types` of Chainer 7.8.1.
    """
    assert isinstance(data, tuple)
    if shapes is None:
        return LightTypeInfoTuple(data)
    return LightTypeInfoTuple(TypeInfo(shape, x.dtype) for x, shape in zip(data, shapes, strict=True))


# ----------------------------------------------------------------------------------------------------------
# Functions that check_type_forward calls
# ----------------------------------------------------------------------------------------------------------


def expect(*bool_exprs: Any) -> None:
    """Checks that comparisons hold. Functions call it in `check_type_forward`.

    Args:
        *bool_exprs: comparisons of expressions; in the light mode truth values.

    Raises:
        AssertionError: an argument is no comparison.
        InvalidType: a comparison does not hold; the message shows it with its values, except in the light mode.

    Example:
        >>> x = chainer.utils.type_check.Variable(np.zeros((2, 3)), "x")
        >>> chainer.utils.type_check.expect(x.ndim == 2, x.shape[0] > 2)
        Traceback (most recent call last):
          ...
        compatgrad.chainer.utils.type_check.InvalidType: Expect: x.shape[0] > 2
        Actual: 2 <= 2

    Source: `chainer.utils.type_check.expect` of Chainer 7.8.1.
    """
    if _thread_local.light_mode:
        if not all(bool_exprs):
            raise InvalidType("", "")
        return
    for expr in bool_exprs:
        assert isinstance(expr, Testable)
        expr.expect()


def eval(exp: Any) -> Any:
    """The value of an expression.

    Args:
        exp: the expression; in the light mode its value.

    Returns:
        The value.

    Raises:
        AttributeError: `exp` is no expression, outside the light mode.

    Example:
        >>> chainer.utils.type_check.eval(chainer.utils.type_check.Variable(3, "x") + 1)
        4

    Source: `chainer.utils.type_check.eval` of Chainer 7.8.1.
    """
    return exp if _thread_local.light_mode else exp.eval()


def make_variable(value: Any, name: str) -> Any:
    """An expression with a name.

    Args:
        value: the value.
        name: the name in messages.

    Returns:
        A `Variable` of this module; in the light mode the value.

    Raises:
        TypeError: an argument is missing.

    Example:
        >>> n = chainer.utils.type_check.make_variable(2, "n")
        >>> print(n * 3 == 6)
        n * 3 == 6

    Source: `chainer.utils.type_check.make_variable` of Chainer 7.8.1.
    """
    return value if _thread_local.light_mode else Variable(value, name)


def _make_variable_from_array(array, name):
    if not isinstance(array, backend.get_array_types()):
        raise InvalidType(f"isinstance({name}, ndarray)", f"type({name}) == {type(array)}")
    return array if _thread_local.light_mode else Variable(TypeInfo(array.shape, array.dtype), name)


def _argname(in_types, names):
    """Names the inputs for messages; raises InvalidType if the numbers of inputs and names differ."""
    if len(in_types) != len(names):
        raise InvalidType(f"{len(names)} argument(s)", f"{len(in_types)} argument(s)", "Invalid number of arguments")
    for in_type, name in zip(in_types, names, strict=True):
        if isinstance(in_type, Variable):
            in_type.name = name


def _expects(conditions):
    """Makes the `check_type_forward` of a class from a method that returns the conditions, one or a tuple. The inputs
    are its arguments, and have their names in messages.
    """
    names = tuple(inspect.signature(conditions).parameters)[1:]

    def check_type_forward(self, in_types: TypeInfoTuple) -> None:
        """Checks the inputs."""
        _argname(in_types, names)
        expected = conditions(self, *in_types)
        expect(*expected if isinstance(expected, tuple) else (expected,))

    return check_type_forward


def same_types(*arrays: Any) -> bool:
    """Whether all arrays are NumPy's, or all are CuPy's.

    Args:
        *arrays: the arrays.

    Returns:
        bool; False where an argument is no array, True without arguments.

    Raises:
        TypeError: an argument has a name.

    Example:
        >>> chainer.utils.type_check.same_types(np.zeros(2), np.zeros(3)), chainer.utils.type_check.same_types([0], [0])
        (True, False)

    Source: `chainer.utils.type_check.same_types` of Chainer 7.8.1.
    """
    return any(all(isinstance(x, kind) for x in arrays) for kind in (numpy.ndarray, cuda.ndarray))


def _prod_impl(xs):
    return functools.reduce(operator.mul, xs, 1)


_prod = Variable(_prod_impl, "prod")


def prod(xs: Any) -> Any:
    """The product of a sequence, as an expression.

    Args:
        xs: the sequence, or an expression of it.

    Returns:
        The expression; in the light mode the number.

    Raises:
        TypeError: in the light mode, or when it is evaluated, `xs` cannot be iterated over.

    Example:
        >>> x = chainer.utils.type_check.Variable(np.zeros((2, 3)), "x")
        >>> print(chainer.utils.type_check.prod(x.shape), "=", chainer.utils.type_check.prod(x.shape).eval())
        prod(x.shape) = 6

    Source: `chainer.utils.type_check.prod` of Chainer 7.8.1.
    """
    return _prod_impl(xs) if _thread_local.light_mode else _prod(xs)


def expect_broadcast_shapes(*shape_types: Any) -> None:
    """Checks that shapes can be broadcast together.

    Args:
        *shape_types: expressions of shapes; in the light mode shapes.

    Raises:
        InvalidType: the shapes cannot be broadcast; the message lists them.

    Example:
        >>> x = chainer.utils.type_check.Variable(np.zeros((2, 3)), "x")
        >>> y = chainer.utils.type_check.Variable(np.zeros(2), "y")
        >>> chainer.utils.type_check.expect_broadcast_shapes(x.shape, y.shape)
        Traceback (most recent call last):
          ...
        compatgrad.chainer.utils.type_check.InvalidType: cannot broadcast inputs of the following shapes:
        x.shape = (2, 3)
        y.shape = (2,)

    Source: `chainer.utils.type_check.expect_broadcast_shapes` of Chainer 7.8.1.
    """
    shapes = [eval(s) for s in shape_types]
    try:
        numpy.broadcast_shapes(*shapes)
    except ValueError:
        listing = "".join(f"\n{name} = {shape}" for name, shape in zip(shape_types, shapes, strict=True))
        message = f"cannot broadcast inputs of the following shapes:{listing}"
    else:
        return
    raise InvalidType("", "", msg=message)
