"""Checks of the types that functions get, written as expressions that are evaluated late.

In the full mode ``in_types[0].ndim == 2`` builds a tree, so that a check that fails can show both the
expression and the values. In the light mode (`light_mode`) the same code runs on the arrays themselves: one
fast pass that only says whether something is wrong. Mirrors ``chainer.utils.type_check``.
"""

import contextlib
import functools
import math
import operator
import threading

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.backends import cuda


class _ThreadState(threading.local):
    current_function = None
    light_mode = False


_thread_local = _ThreadState()


@contextlib.contextmanager
def get_function_check_context(f):
    """Names `f` in the message of every `InvalidType` raised inside the ``with`` block."""
    previous = _thread_local.current_function
    _thread_local.current_function = f
    try:
        yield
    finally:
        _thread_local.current_function = previous


class LightMode:
    """Inside the ``with`` block checks run on the arrays themselves."""

    def __enter__(self):
        _thread_local.light_mode = True

    def __exit__(self, exc_type, exc_value, traceback):
        _thread_local.light_mode = False


light_mode = LightMode()


def in_light_mode():
    """Whether checks of this thread run in the light mode."""
    return _thread_local.light_mode


class InvalidType(Exception):
    """The inputs or gradients of a function have types that it does not take."""

    def __init__(self, expect, actual, msg=None):
        if msg is None:
            msg = f"Expect: {expect}\nActual: {actual}"
            function = _thread_local.current_function
            if function is not None:
                msg = f"\nInvalid operation is performed in: {function.label} (Forward)\n\n{msg}"
        super().__init__(msg)
        self.expect = expect
        self.actual = actual

    def __reduce__(self):
        return InvalidType, (self.expect, self.actual, self.args[0])


class TypeInfo:
    """Shape and dtype of an array."""

    def __init__(self, shape, dtype):
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)

    @property
    def size(self):
        return math.prod(self.shape)


class TypeInfoTuple(tuple):
    """The types of all inputs: expressions of `TypeInfo`."""

    name = None

    def size(self):
        """An expression of the number of inputs."""
        return Variable(len(self), f"{self.name}.size")


class LightTypeInfoTuple(tuple):
    """The types of all inputs in the light mode: the arrays."""

    def size(self):
        """The number of inputs."""
        return len(self)


def get_types(data, name, accept_none, *, shapes=None):
    """The types of `data`, a tuple of arrays, as expressions named ``name[i]``; None is taken if
    `accept_none`.

    `shapes` are used instead of the arrays' own where given.
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


def get_light_types(data, *, shapes=None):
    """The types of `data`, a tuple of arrays, for the light mode."""
    assert isinstance(data, tuple)
    if shapes is None:
        return LightTypeInfoTuple(data)
    return LightTypeInfoTuple(TypeInfo(shape, x.dtype) for x, shape in zip(data, shapes, strict=True))


# ----------------------------------------------------------------------------------------------------------
# Expressions. `priority` is how strongly the outermost operator binds, from 8 (an atom) to -1 (a
# comparison): it decides where str() needs parentheses.
# ----------------------------------------------------------------------------------------------------------


def _unary(symbol, priority, func):
    return lambda x: UnaryOperator(priority, x, symbol, func)


def _binary(symbol, priority, func, right_associative=False):
    return (
        lambda x, y: BinaryOperator(priority, x, y, symbol, func, right_associative),
        lambda y, x: BinaryOperator(priority, x, y, symbol, func, right_associative),
    )


def _comparison(symbol, inverse, func):
    return lambda x, y: BoolBinaryOperator(x, y, symbol, inverse, func)


class Expr:
    """A tree of operations on types. ``eval()`` gives its value, ``str()`` the source.

    Attributes, subscripts, calls, arithmetic and comparisons build larger trees. It has no truth value:
    RuntimeError.
    """

    def __init__(self, priority):
        self.priority = priority

    def eval(self):
        """The value of the expression."""
        raise NotImplementedError

    def __getattr__(self, name):
        return GetAttr(self, name)

    def __getitem__(self, key):
        return GetItem(self, key)

    def __call__(self, *args):
        return Call(self, args)

    def __bool__(self):
        # `a == b and c == d` would silently check only the last comparison.
        raise RuntimeError("An Expr has no truth value; chainer.utils.type_check.eval() gives the value of an Expr.")

    __hash__ = None

    __eq__ = _comparison("==", "!=", operator.eq)
    __ne__ = _comparison("!=", "==", operator.ne)
    __lt__ = _comparison("<", ">=", operator.lt)
    __le__ = _comparison("<=", ">", operator.le)
    __gt__ = _comparison(">", "<=", operator.gt)
    __ge__ = _comparison(">=", "<", operator.ge)

    __or__, __ror__ = _binary("|", 0, operator.or_)
    __xor__, __rxor__ = _binary("^", 1, operator.xor)
    __and__, __rand__ = _binary("&", 2, operator.and_)
    __lshift__, __rlshift__ = _binary("<<", 3, operator.lshift)
    __rshift__, __rrshift__ = _binary(">>", 3, operator.rshift)
    __add__, __radd__ = _binary("+", 4, operator.add)
    __sub__, __rsub__ = _binary("-", 4, operator.sub)
    __mul__, __rmul__ = _binary("*", 5, operator.mul)
    __truediv__, __rtruediv__ = _binary("/", 5, operator.truediv)
    __floordiv__, __rfloordiv__ = _binary("//", 5, operator.floordiv)
    __mod__, __rmod__ = _binary("%", 5, operator.mod)
    __neg__ = _unary("-", 6, operator.neg)
    __pos__ = _unary("+", 6, operator.pos)
    __invert__ = _unary("~", 6, operator.invert)
    __pow__, __rpow__ = _binary("**", 7, operator.pow, right_associative=True)


def _eval_expr(value):
    if isinstance(value, Expr):
        return value.eval()
    if isinstance(value, (list, tuple)):
        return type(value)([_eval_expr(v) for v in value])
    return value


def _repr(value):
    if isinstance(value, Expr):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_repr, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_repr, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _str_subscript(key):
    if key is Ellipsis:
        return "..."
    if isinstance(key, tuple):
        return ", ".join(map(_str_subscript, key))
    if isinstance(key, slice):
        parts = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
        return ":".join("" if part is None else _repr(part) for part in parts)
    return _repr(key)


class Atom(Expr):
    """An expression that never needs parentheses."""

    def __init__(self):
        super().__init__(8)


class Constant(Atom):
    """A value without a name."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def __str__(self):
        return _repr(self.value)

    def eval(self):
        return self.value


class Variable(Atom):
    """A value with a name."""

    def __init__(self, value, name):
        super().__init__()
        self.value = value
        self.name = name

    def __str__(self):
        return self.name

    def eval(self):
        return self.value


class GetAttr(Atom):
    """``obj.name``."""

    def __init__(self, obj, name):
        super().__init__()
        self.obj = obj
        self.name = name

    def __str__(self):
        name = self.name.value if isinstance(self.name, Constant) else self.name
        if isinstance(name, str):
            return f"{_repr(self.obj)}.{name}"
        return f"getattr({_repr(self.obj)}, {_repr(self.name)})"

    def eval(self):
        return getattr(_eval_expr(self.obj), _eval_expr(self.name))


class GetItem(Atom):
    """``obj[key]``."""

    def __init__(self, obj, key):
        super().__init__()
        self.obj = obj
        self.key = key

    def __str__(self):
        return f"{_repr(self.obj)}[{_str_subscript(self.key)}]"

    def eval(self):
        return _eval_expr(self.obj)[_eval_expr(self.key)]


class Call(Atom):
    """``obj(*args)``."""

    def __init__(self, obj, args):
        assert isinstance(args, tuple)
        super().__init__()
        self.obj = obj
        self.args = args

    def __str__(self):
        return f"{_repr(self.obj)}({', '.join(map(_repr, self.args))})"

    def eval(self):
        return _eval_expr(self.obj)(*map(_eval_expr, self.args))


class UnaryOperator(Expr):
    """A prefix operator `exp`, computed by `func`."""

    def __init__(self, priority, term, exp, func):
        super().__init__(priority)
        self.term = term
        self.exp = exp
        self.func = func

    def eval(self):
        return self.func(_eval_expr(self.term))

    def __str__(self):
        return self.exp + _operand(self.term, self.priority, parenthesize_equal=False)


class BinaryOperator(Expr):
    """An infix operator `exp`, computed by `func`."""

    def __init__(self, priority, lhs, rhs, exp, func, right_associative=False):
        super().__init__(priority)
        self.lhs = lhs
        self.rhs = rhs
        self.exp = exp
        self.func = func
        self.right_associative = right_associative

    def eval(self):
        return self.func(_eval_expr(self.lhs), _eval_expr(self.rhs))

    def __str__(self):
        left = _operand(self.lhs, self.priority, parenthesize_equal=self.right_associative)
        right = _operand(self.rhs, self.priority, parenthesize_equal=not self.right_associative)
        return f"{left} {self.exp} {right}"


def _operand(term, priority, parenthesize_equal):
    text = _repr(term)
    if isinstance(term, Expr) and (term.priority < priority or parenthesize_equal and term.priority == priority):
        return f"({text})"
    return text


class Testable:
    """What `expect` takes."""

    def expect(self):
        """Raises InvalidType if the condition does not hold."""
        raise NotImplementedError


class BoolBinaryOperator(BinaryOperator, Testable):
    """A comparison; `inv` is the symbol of the opposite one, for the message."""

    def __init__(self, lhs, rhs, exp, inv, func):
        super().__init__(-1, lhs, rhs, exp, func)
        self.inv = inv

    def expect(self):
        left = _eval_expr(self.lhs)
        right = _eval_expr(self.rhs)
        if not self.func(left, right):
            raise InvalidType(f"{self.lhs} {self.exp} {self.rhs}", f"{left} {self.inv} {right}")


# ----------------------------------------------------------------------------------------------------------
# What functions call in check_type_forward
# ----------------------------------------------------------------------------------------------------------


def expect(*bool_exprs):
    """Raises InvalidType unless every comparison holds."""
    if _thread_local.light_mode:
        if not all(bool_exprs):
            raise InvalidType("", "")
        return
    for expr in bool_exprs:
        assert isinstance(expr, Testable)
        expr.expect()


def eval(exp):
    """The value of an expression."""
    return exp if _thread_local.light_mode else exp.eval()


def make_variable(value, name):
    """`value` as an expression that messages call `name`."""
    return value if _thread_local.light_mode else Variable(value, name)


def _make_variable_from_array(array, name):
    if not isinstance(array, backend.get_array_types()):
        raise InvalidType(f"isinstance({name}, ndarray)", f"type({name}) == {type(array)}")
    return array if _thread_local.light_mode else Variable(TypeInfo(array.shape, array.dtype), name)


def _argname(in_types, names):
    """Gives the inputs names for messages; raises InvalidType where their number is not that of the names."""
    if len(in_types) != len(names):
        raise InvalidType(f"{len(names)} argument(s)", f"{len(in_types)} argument(s)", "Invalid number of arguments")
    for in_type, name in zip(in_types, names, strict=True):
        if isinstance(in_type, Variable):
            in_type.name = name


def same_types(*arrays):
    """Whether all arrays are NumPy's, or all are CuPy's."""
    return any(all(isinstance(x, kind) for x in arrays) for kind in (numpy.ndarray, cuda.ndarray))


def _prod_impl(xs):
    return functools.reduce(operator.mul, xs, 1)


_prod = Variable(_prod_impl, "prod")


def prod(xs):
    """The product of a sequence, as an expression."""
    return _prod_impl(xs) if _thread_local.light_mode else _prod(xs)


def expect_broadcast_shapes(*shape_types):
    """Raises InvalidType, listing the shapes, unless they can be broadcast together."""
    shapes = [eval(s) for s in shape_types]
    try:
        numpy.broadcast_shapes(*shapes)
    except ValueError:
        listing = "".join(f"\n{name} = {shape}" for name, shape in zip(shape_types, shapes, strict=True))
        message = f"cannot broadcast inputs of the following shapes:{listing}"
    else:
        return
    raise InvalidType("", "", msg=message)
