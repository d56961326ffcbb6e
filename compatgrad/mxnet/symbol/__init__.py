"""`mx.sym`: graphs of operators."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._home import lend as _lend
from ..base import MXNetError, integer_types
from ..ndarray._operator import operators as _operators
from . import _control, _random, symbol
from ._compose import function_of as _function_of
from ._compose import implementation as _implementation
from ._custom import Custom as Custom
from ._facts import canonical as _canonical
from ._methods import split_v2 as split_v2
from ._numpy import np as np
from ._numpy import npx as npx
from ._recorded import symbol_of as symbol_of
from .symbol import Group as Group
from .symbol import Symbol as Symbol
from .symbol import Variable as Variable
from .symbol import load as load
from .symbol import load_json as load_json
from .symbol import var as var

if TYPE_CHECKING:
    from .._typing import Dtype, Shape


_PAIR = """{summary} Of two symbols, a symbol and a number, or two numbers.

    Args:
        {left}: Symbol, or a number.
        {right}: Symbol, or a number. Arrays behind two symbols have one shape.

    Returns:
        Symbol; of two numbers a number.

    Raises:
        TypeError: neither is a Symbol, and Python does not have the operation for them.

    Example:
        >>> y = mx.sym.{name}(mx.sym.var("x"), 2)
        >>> y.eval(x=nd.array([1.0, 3.0]))[0].asnumpy()
        array({result}, dtype=float32)

    Source: `mxnet.sym.{name}` of MXNet 1.9.1.
    """


def _pair(name: str, number: str, reverse: str, plain: Any, summary: str, result: str) -> Any:
    def call(left: Symbol | float, right: Symbol | float) -> Symbol | float:
        if isinstance(left, Symbol):
            if isinstance(right, Symbol):
                return _function_of(f"_{name}", f"_{name}")(left, right)
            return _function_of(number, number)(left, scalar=right)
        if isinstance(right, Symbol):
            return _function_of(reverse, reverse)(right, scalar=left)
        return plain(left, right)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _PAIR.format(summary=summary, left="left", right="right", name=name, result=result)
    return call


numpy, numpy_extension = np, npx
maximum = _pair("maximum", "_maximum_scalar", "_maximum_scalar", max, "The larger one of both.", "[2., 3.]")
minimum = _pair("minimum", "_minimum_scalar", "_minimum_scalar", min, "The smaller one of both.", "[1., 2.]")
_raised = _pair("power", "_power_scalar", "_rpower_scalar", lambda a, b: a**b, "", "")


def power(base: Symbol | float, exp: Symbol | float) -> Symbol | float:
    return _raised(base, exp)


power.__doc__ = _PAIR.format(summary="base ** exp.", left="base", right="exp", name="power", result="[1., 9.]")


pow = power
hypot = _pair("hypot", "_hypot_scalar", "_hypot_scalar", math.hypot, "sqrt(left ** 2 + right ** 2).",
              "[2.236068 , 3.6055512]")  # fmt: skip


_OPTIONS = """dtype: the dtype of the array; None is float32.
        **kwargs: `name`, that of the node; `attr`, a dict of its attributes, or attributes named like `__key__`."""
_FILLED = """A symbol of an array of {name}.

    Args:
        shape: an integer, or a sequence of them.
        {options}

    Returns:
        Symbol.

    Raises:
        mxnet.base.MXNetError: when the symbol is run, `shape` or `dtype` is wrong.

    Example:
        >>> mx.sym.{name}((2,)).eval()[0].asnumpy()
        array({result}, dtype=float32)

    Source: `mxnet.sym.{name}` of MXNet 1.9.1.
    """


def _filled(name: str, result: str) -> Any:
    def call(shape: Shape, dtype: Dtype | None = None, **kwargs: Any) -> Symbol:
        return _function_of(f"_{name}", f"_{name}")(shape=shape, dtype=dtype or "float32", **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _FILLED.format(name=name, options=_OPTIONS, result=result)
    return call


zeros, ones = _filled("zeros", "[0., 0.]"), _filled("ones", "[1., 1.]")


def full(shape: Shape, val: float, dtype: Dtype | None = None, **kwargs: Any) -> Symbol:
    """A symbol of an array filled with a number.

    Args:
        shape: an integer, or a sequence of them.
        val: the number.
        dtype: the dtype of the array; None is float32.
        **kwargs: `name`, that of the node; `attr`, a dict of its attributes, or attributes named like `__key__`.

    Returns:
        Symbol.

    Raises:
        ValueError: `val` is no number.
        mxnet.base.MXNetError: when the symbol is run, `shape` or `dtype` is wrong.

    Example:
        >>> mx.sym.full((2,), 7).eval()[0].asnumpy()
        array([7., 7.], dtype=float32)

    Source: `mxnet.sym.full` of MXNet 1.9.1.
    """
    return _function_of("_full", "_full")(shape=shape, dtype=dtype or "float32", value=float(val), **kwargs)


def arange(
    start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False,
    name: str | None = None, dtype: Dtype | None = None,
) -> Symbol:  # fmt: skip
    """A symbol of numbers at equal distances, from `start` up to `stop`, which is not one of them.

    Args:
        start: the first number; without `stop`, it is `stop`, and 0 the first number.
        stop: where the numbers end.
        step: their distance.
        repeat: how often each number comes.
        infer_range: without `stop`, there are as many numbers as what reads them needs.
        name: the name of the node.
        dtype: the dtype of the array; None is float32.

    Returns:
        Symbol.

    Raises:
        mxnet.base.MXNetError: when the symbol is run, an argument is wrong.

    Example:
        >>> mx.sym.arange(3, repeat=2).eval()[0].asnumpy()
        array([0., 0., 1., 1., 2., 2.], dtype=float32)

    Source: `mxnet.sym.arange` of MXNet 1.9.1.
    """
    options = {"start": start, "step": step, "repeat": repeat, "dtype": dtype or "float32", "name": name}
    if infer_range:
        options["infer_range"] = True
    return _function_of("_arange", "_arange")(**options, **({} if stop is None else {"stop": stop}))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Dtype | None = None
) -> Symbol:
    """A symbol of numbers at equal distances between two ends.

    Args:
        start: the first number.
        stop: the last number.
        num: how many numbers.
        endpoint: whether `stop` is the last of them; else it comes next after them.
        name: the name of the node.
        dtype: the dtype of the array; None is float32.

    Returns:
        Symbol.

    Raises:
        mxnet.base.MXNetError: when the symbol is run, an argument is wrong.

    Example:
        >>> mx.sym.linspace(0, 1, 3).eval()[0].asnumpy()
        array([0. , 0.5, 1. ], dtype=float32)

    Source: `mxnet.sym.linspace` of MXNet 1.9.1.
    """
    return _function_of("_linspace", "_linspace")(
        start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=dtype or "float32"
    )


def eye(N: int, M: int = 0, k: int = 0, dtype: Dtype | None = None, **kwargs: Any) -> Symbol:
    """A symbol of a matrix of zeros with ones on a diagonal.

    Args:
        N: the number of rows.
        M: the number of columns; 0 is `N`.
        k: which diagonal: above the main one if positive, below it if negative.
        dtype: the dtype of the array; None is float32.
        **kwargs: `name`, that of the node; `attr`, a dict of its attributes, or attributes named like `__key__`.

    Returns:
        Symbol.

    Raises:
        mxnet.base.MXNetError: when the symbol is run, an argument is wrong.

    Example:
        >>> mx.sym.eye(2, 3, k=1).eval()[0].asnumpy()
        array([[0., 1., 0.],
               [0., 0., 1.]], dtype=float32)

    Source: `mxnet.sym.eye` of MXNet 1.9.1.
    """
    return _function_of("_eye", "_eye")(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def histogram(a: Symbol, bins: Symbol | int = 10, range: Sequence[float] | None = None, **kwargs: Any) -> Symbol:
    """A symbol of how many elements of an array fall into each of several bins, and of the ends of the bins.

    Args:
        a: Symbol.
        bins: Symbol of the rising ends of all bins, or a number of bins of equal width.
        range: the ends of all bins together, which a number of bins needs.
        **kwargs: `name`, that of the node; `attr`, a dict of its attributes, or attributes named like `__key__`.

    Returns:
        Symbol of two outputs.

    Raises:
        ValueError: `bins` is something else, or `range` is missing.
        TypeError: `a` is no Symbol.

    Example:
        >>> counts, ends = mx.sym.histogram(mx.sym.var("x"), bins=2, range=(0, 4))
        >>> counts.eval(x=nd.array([1, 2, 3]))[0].asnumpy()
        array([1, 2])

    Source: `mxnet.sym.histogram` of MXNet 1.9.1.
    """
    if isinstance(bins, Symbol):
        return _function_of("_histogram", "_histogram")(data=a, bins=bins, **kwargs)
    if not isinstance(bins, integer_types):
        raise ValueError(f"histogram: bins: expected a number or a symbol, got {type(bins).__name__}")
    if range is None:
        raise ValueError("histogram: a number of bins needs a range in symbols")
    return _function_of("_histogram", "_histogram")(data=a, bin_cnt=bins, range=range, **kwargs)


class _Namespace(ModuleType):
    """Functions of symbols for the operators whose names begin with one of some prefixes."""

    def __init__(self, name: str, prefixes: tuple[str, ...]) -> None:
        super().__init__(f"{__name__}.{name}", f"Symbols of the operators of `mx.nd.{name}`.")
        self._prefixes = prefixes

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for prefix in self._prefixes:
                if _exists(prefix + name):
                    found = _function_of(prefix + name, name)
                    setattr(self, name, found)
                    return found
        from compatgrad.names.absent import no_attribute

        raise no_attribute(self, name)


def _exists(op: str) -> bool:
    try:
        _implementation(_canonical(op))
    except MXNetError:
        return False
    return True


for _name, _prefixes in (
    ("op", ("",)), ("_internal", ("", "_")), ("contrib", ("_contrib_",)), ("linalg", ("_linalg_",)),
    ("image", ("_image_",)), ("sparse", ("",)), ("random", ("_random_", "_sample_", "_")),
):  # fmt: skip
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Namespace(_name, _prefixes)


def _CachedOp(*args: Symbol, subgraph: str, **_: Any) -> Symbol:
    """The graph of a JSON text with symbols in the places of its `list_inputs()`; its nodes become nodes here."""
    inner = load_json(subgraph)
    return inner(**dict(zip(inner.list_inputs(), args, strict=True)))


def _add_functions() -> None:
    """Functions of the namespaces that make several operators, or choose between some."""
    setattr(globals()["_internal"], "_CachedOp", _CachedOp)  # noqa: B010 - made above, by its name

    for name in ("foreach", "while_loop", "cond"):
        setattr(globals()["contrib"], name, getattr(_control, name))
    setattr(globals()["contrib"], "rand_zipfian", _random.rand_zipfian)  # noqa: B010 - made above, by its name
    for function in _random.FUNCTIONS:
        setattr(globals()["random"], function.__name__, function)


_add_functions()


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and (name in _operators or (name.startswith("_") and _exists(name))):
        found = globals()[name] = _function_of(name, name)
        return found
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)


_lend(globals(), symbol)
