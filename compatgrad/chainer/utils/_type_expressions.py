"""Expressions of types, evaluated late, and the error that shows them."""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _ThreadState(threading.local):
    current_function = None
    light_mode = False


_thread_local = _ThreadState()


@contextlib.contextmanager
def get_function_check_context(f: Any) -> Iterator[None]:
    """Context manager that names a function in the message of every `InvalidType` raised inside the `with` block.

    Args:
        f: the function, an object with an attribute `label`.

    Yields:
        None.

    Raises:
        AttributeError: an `InvalidType` is made inside the block and `f` has no `label`.

    Example:
        >>> from types import SimpleNamespace
        >>> with chainer.utils.type_check.get_function_check_context(SimpleNamespace(label="MyFunction")):
        ...     print(chainer.utils.type_check.InvalidType("x.ndim == 2", "3 != 2"))
        <BLANKLINE>
        Invalid operation is performed in: MyFunction (Forward)
        <BLANKLINE>
        Expect: x.ndim == 2
        Actual: 3 != 2

    Source: `chainer.utils.type_check.get_function_check_context` of Chainer 7.8.1.
    """
    previous = _thread_local.current_function
    _thread_local.current_function = f
    try:
        yield
    finally:
        _thread_local.current_function = previous


class LightMode:
    """Context manager of the light mode: inside the `with` block checks of this thread run on the arrays themselves,
    which is fast, but only finds out whether something is wrong. `type_check.light_mode` is an instance.

    Example:
        >>> with chainer.utils.type_check.light_mode:
        ...     chainer.utils.type_check.in_light_mode()
        True

    Source: `chainer.utils.type_check.LightMode` of Chainer 7.8.1.
    """

    def __enter__(self):
        _thread_local.light_mode = True

    def __exit__(self, exc_type, exc_value, traceback):
        _thread_local.light_mode = False


light_mode = LightMode()


def in_light_mode() -> bool:
    """Whether checks of this thread run in the light mode.

    Returns:
        True inside the `with` block of `light_mode`.

    Example:
        >>> chainer.utils.type_check.in_light_mode()
        False

    Source: `chainer.utils.type_check.in_light_mode` of Chainer 7.8.1.
    """
    return _thread_local.light_mode


class InvalidType(Exception):
    """The inputs or gradients of a function have types that the function does not accept. Its attributes are `expect`
    and `actual`.

    Args:
        expect: what was expected, as an expression.
        actual: the actual value.
        msg: the whole message; None composes it, with the name of the function that is checked.

    Example:
        >>> raise chainer.utils.type_check.InvalidType("x.ndim == 2", "3 != 2")
        Traceback (most recent call last):
          ...
        compatgrad.chainer.utils.type_check.InvalidType: Expect: x.ndim == 2
        Actual: 3 != 2

    Source: `chainer.utils.type_check.InvalidType` of Chainer 7.8.1.
    """

    __module__ = "compatgrad.chainer.utils.type_check"  # where programs import it; tracebacks show it

    def __init__(self, expect: str, actual: str, msg: str | None = None) -> None:
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


# Expressions. `priority` is the precedence of the outermost operator, from 8 (an atom) to -1 (a comparison); str() adds
# parentheses by it.


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
    """A tree of operations on types, evaluated late. Attributes, subscripts, calls, arithmetic and comparisons build
    larger trees; `str()` gives the source. An expression has no truth value: `bool()` raises RuntimeError.

    Args:
        priority: precedence of the outermost operator, from 8 (an atom) to -1 (a comparison), by which `str()` adds
            parentheses.

    Example:
        >>> x = chainer.utils.type_check.Variable(3, "x")
        >>> print((x + 1) * 2, "=", ((x + 1) * 2).eval())
        (x + 1) * 2 = 8

    Source: `chainer.utils.type_check.Expr` of Chainer 7.8.1.
    """

    def __init__(self, priority: int) -> None:
        self.priority = priority

    def eval(self) -> Any:
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
    """An expression that never needs parentheses: base class of constants, variables, attributes, subscripts and calls.

    Example:
        >>> chainer.utils.type_check.Atom().priority
        8

    Source: `chainer.utils.type_check.Atom` of Chainer 7.8.1.
    """

    def __init__(self) -> None:
        super().__init__(8)


class Constant(Atom):
    """A value without a name.

    Args:
        value: the value.

    Example:
        >>> str(chainer.utils.type_check.Constant(3)), chainer.utils.type_check.Constant(3).eval()
        ('3', 3)

    Source: `chainer.utils.type_check.Constant` of Chainer 7.8.1.
    """

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def __str__(self):
        return _repr(self.value)

    def eval(self) -> Any:
        """The value."""
        return self.value


class Variable(Atom):
    """A value with a name.

    Args:
        value: the value.
        name: the name, which `str()` returns.

    Example:
        >>> x = chainer.utils.type_check.Variable(3, "x")
        >>> str(x + 1), (x + 1).eval()
        ('x + 1', 4)

    Source: `chainer.utils.type_check.Variable` of Chainer 7.8.1.
    """

    def __init__(self, value: Any, name: str) -> None:
        super().__init__()
        self.value = value
        self.name = name

    def __str__(self):
        return self.name

    def eval(self) -> Any:
        """The value."""
        return self.value


class GetAttr(Atom):
    """An attribute of an expression, as `x.ndim`.

    Args:
        obj: the expression.
        name: name of the attribute, a string or an expression.

    Example:
        >>> x = chainer.utils.type_check.Variable(np.zeros((2, 3)), "x")
        >>> str(x.ndim), x.ndim.eval()
        ('x.ndim', 2)

    Source: `chainer.utils.type_check.GetAttr` of Chainer 7.8.1.
    """

    def __init__(self, obj: Any, name: Any) -> None:
        super().__init__()
        self.obj = obj
        self.name = name

    def __str__(self):
        name = self.name.value if isinstance(self.name, Constant) else self.name
        if isinstance(name, str):
            return f"{_repr(self.obj)}.{name}"
        return f"getattr({_repr(self.obj)}, {_repr(self.name)})"

    def eval(self) -> Any:
        """The attribute of the value."""
        return getattr(_eval_expr(self.obj), _eval_expr(self.name))


class GetItem(Atom):
    """A subscript of an expression, as `x.shape[1]`.

    Args:
        obj: the expression.
        key: the key, which may contain expressions.

    Example:
        >>> x = chainer.utils.type_check.Variable(np.zeros((2, 3)), "x")
        >>> str(x.shape[1]), x.shape[1].eval()
        ('x.shape[1]', 3)

    Source: `chainer.utils.type_check.GetItem` of Chainer 7.8.1.
    """

    def __init__(self, obj: Any, key: Any) -> None:
        super().__init__()
        self.obj = obj
        self.key = key

    def __str__(self):
        return f"{_repr(self.obj)}[{_str_subscript(self.key)}]"

    def eval(self) -> Any:
        """The element of the value."""
        return _eval_expr(self.obj)[_eval_expr(self.key)]


class Call(Atom):
    """A call of an expression.

    Args:
        obj: the expression, whose value can be called.
        args: the arguments, which may be expressions.

    Raises:
        AssertionError: `args` is no tuple.

    Example:
        >>> f = chainer.utils.type_check.Variable(max, "max")
        >>> str(f(1, 2)), f(1, 2).eval()
        ('max(1, 2)', 2)

    Source: `chainer.utils.type_check.Call` of Chainer 7.8.1.
    """

    def __init__(self, obj: Any, args: tuple[Any, ...]) -> None:
        assert isinstance(args, tuple)
        super().__init__()
        self.obj = obj
        self.args = args

    def __str__(self):
        return f"{_repr(self.obj)}({', '.join(map(_repr, self.args))})"

    def eval(self) -> Any:
        """The result of the call."""
        return _eval_expr(self.obj)(*map(_eval_expr, self.args))


class UnaryOperator(Expr):
    """A prefix operator.

    Args:
        priority: precedence of the operator.
        term: the operand.
        exp: the symbol.
        func: computes it.

    Example:
        >>> x = chainer.utils.type_check.Variable(3, "x")
        >>> str(-x), (-x).eval()
        ('-x', -3)

    Source: `chainer.utils.type_check.UnaryOperator` of Chainer 7.8.1.
    """

    def __init__(self, priority: int, term: Any, exp: str, func: Callable[[Any], Any]) -> None:
        super().__init__(priority)
        self.term = term
        self.exp = exp
        self.func = func

    def eval(self) -> Any:
        """The value of the operation."""
        return self.func(_eval_expr(self.term))

    def __str__(self):
        return self.exp + _operand(self.term, self.priority, parenthesize_equal=False)


class BinaryOperator(Expr):
    """An infix operator.

    Args:
        priority: precedence of the operator.
        lhs, rhs: the operands.
        exp: the symbol.
        func: computes it.
        right_associative: True groups from the right, as `**` does.

    Example:
        >>> x = chainer.utils.type_check.Variable(3, "x")
        >>> str(1 + x * 2), (1 + x * 2).eval()
        ('1 + x * 2', 7)

    Source: `chainer.utils.type_check.BinaryOperator` of Chainer 7.8.1.
    """

    def __init__(
        self,
        priority: int,
        lhs: Any,
        rhs: Any,
        exp: str,
        func: Callable[[Any, Any], Any],
        right_associative: bool = False,
    ) -> None:
        super().__init__(priority)
        self.lhs = lhs
        self.rhs = rhs
        self.exp = exp
        self.func = func
        self.right_associative = right_associative

    def eval(self) -> Any:
        """The value of the operation."""
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
    """Base class of the arguments of `expect`.

    Example:
        >>> x = chainer.utils.type_check.Variable(3, "x")
        >>> isinstance(x == 3, chainer.utils.type_check.Testable)
        True

    Source: `chainer.utils.type_check.Testable` of Chainer 7.8.1.
    """

    def expect(self) -> None:
        """Raises InvalidType if the condition does not hold."""
        raise NotImplementedError


class BoolBinaryOperator(BinaryOperator, Testable):
    """A comparison.

    Args:
        lhs, rhs: the operands.
        exp: the symbol.
        inv: the symbol of the opposite comparison, for the message.
        func: computes it.

    Example:
        >>> x = chainer.utils.type_check.Variable(3, "x")
        >>> (x < 2).expect()
        Traceback (most recent call last):
          ...
        compatgrad.chainer.utils.type_check.InvalidType: Expect: x < 2
        Actual: 3 >= 2

    Source: `chainer.utils.type_check.BoolBinaryOperator` of Chainer 7.8.1.
    """

    def __init__(self, lhs: Any, rhs: Any, exp: str, inv: str, func: Callable[[Any, Any], Any]) -> None:
        super().__init__(-1, lhs, rhs, exp, func)
        self.inv = inv

    def expect(self) -> None:
        """Raises InvalidType if the comparison does not hold."""
        left = _eval_expr(self.lhs)
        right = _eval_expr(self.rhs)
        if not self.func(left, right):
            raise InvalidType(f"{self.lhs} {self.exp} {self.rhs}", f"{left} {self.inv} {right}")
