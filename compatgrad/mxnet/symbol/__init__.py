"""`mx.sym`: graphs of operators."""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any

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


def _pair(name: str, number: str, reverse: str, plain: Any) -> Any:
    def call(left: Any, right: Any) -> Any:
        if isinstance(left, Symbol):
            if isinstance(right, Symbol):
                return _function_of(f"_{name}", f"_{name}")(left, right)
            return _function_of(number, number)(left, scalar=right)
        if isinstance(right, Symbol):
            return _function_of(reverse, reverse)(right, scalar=left)
        return plain(left, right)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name} of symbols, or of a symbol and a number."
    return call


numpy, numpy_extension = np, npx
maximum = _pair("maximum", "_maximum_scalar", "_maximum_scalar", max)
minimum = _pair("minimum", "_minimum_scalar", "_minimum_scalar", min)
_raised = _pair("power", "_power_scalar", "_rpower_scalar", lambda a, b: a**b)


def power(base: Any, exp: Any) -> Any:
    """base ** exp, of symbols, or of a symbol and a number."""
    return _raised(base, exp)


pow = power
hypot = _pair("hypot", "_hypot_scalar", "_hypot_scalar", math.hypot)


def _filled(name: str) -> Any:
    def call(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
        return _function_of(f"_{name}", f"_{name}")(shape=shape, dtype=dtype or "float32", **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"A symbol of {name} of a shape."
    return call


zeros, ones = _filled("zeros"), _filled("ones")


def full(shape: Any, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of an array filled with a number."""
    return _function_of("_full", "_full")(shape=shape, dtype=dtype or "float32", value=float(val), **kwargs)


def arange(
    start: float, stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False,
    name: str | None = None, dtype: Any = None,
) -> Symbol:  # fmt: skip
    """A symbol of the numbers from `start` up to `stop`.

    infer_range: without `stop`, there are as many numbers as what reads them needs.
    """
    options = {"start": start, "step": step, "repeat": repeat, "dtype": dtype or "float32", "name": name}
    if infer_range:
        options["infer_range"] = True
    return _function_of("_arange", "_arange")(**options, **({} if stop is None else {"stop": stop}))


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: Any = None
) -> Symbol:
    """A symbol of `num` numbers at equal distances."""
    return _function_of("_linspace", "_linspace")(
        start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=dtype or "float32"
    )


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A symbol of ones on a diagonal."""
    return _function_of("_eye", "_eye")(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def histogram(a: Symbol, bins: Any = 10, range: Any = None, **kwargs: Any) -> Symbol:  # noqa: A002
    """A symbol of how many elements fall into each bin, and of the ends of the bins.

    bins: a symbol of the ends, or a number of bins of equal width over `range`. ValueError for anything else, and for
    a number without `range`.
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
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")


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


def _CachedOp(*args: Symbol, subgraph: str, **_: Any) -> Symbol:  # noqa: N802
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
    raise AttributeError(f"module 'mxnet.symbol' has no attribute '{name}'")


_lend(globals(), symbol)
