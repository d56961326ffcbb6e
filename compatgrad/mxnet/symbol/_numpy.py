"""`mx.sym.np` and `mx.sym.npx`: NumPy's names for symbols, made of the operators that graphs of `mx.sym` have.

So hybrid blocks that write `F.np.dot` or `F.npx.relu` can be exported. Arrays in such a graph have at least one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ._compose import function_of
from .symbol import Symbol

__all__ = ["np", "npx"]

_SAME = frozenset(
    "abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees dot exp expand_dims "
    "expm1 fix floor log log10 log1p log2 max mean min negative ones_like prod radians reciprocal repeat "
    "rint round sign sin sinh sqrt square squeeze sum tan tanh tile trunc where zeros_like argmax argmin "
    "argsort sort clip".split()
)
_PAIRS = {
    "add": "_plus", "subtract": "_minus", "multiply": "_mul", "divide": "_div", "true_divide": "_div", "mod": "_mod",
    "power": "_power", "maximum": "_maximum", "minimum": "_minimum", "equal": "_equal", "not_equal": "_not_equal",
    "greater": "_greater", "less": "_lesser", "greater_equal": "_greater_equal", "less_equal": "_lesser_equal",
}  # fmt: skip
_BROADCAST = {
    "_plus": "broadcast_add", "_minus": "broadcast_sub", "_mul": "broadcast_mul", "_div": "broadcast_div",
    "_lesser": "broadcast_lesser", "_lesser_equal": "broadcast_lesser_equal",
}  # fmt: skip
_MIRRORED = {
    "_minus": "_rminus", "_div": "_rdiv", "_mod": "_rmod", "_power": "_rpower", "_greater": "_lesser",
    "_lesser": "_greater", "_greater_equal": "_lesser_equal", "_lesser_equal": "_greater_equal",
}  # fmt: skip


def _pair(name: str) -> Callable[..., Symbol]:
    short = _PAIRS[name]

    def call(x1: Any, x2: Any) -> Symbol:
        if isinstance(x1, Symbol) and isinstance(x2, Symbol):
            return function_of(_BROADCAST.get(short, f"broadcast{short}"), name)(x1, x2)
        if isinstance(x1, Symbol):
            return function_of(f"{short}_scalar", name)(x1, scalar=x2)
        return function_of(f"{_MIRRORED.get(short, short)}_scalar", name)(x2, scalar=x1)

    return call


def _concatenate(seq: Any, axis: int = 0) -> Symbol:
    return function_of("Concat", "concatenate")(*seq, dim=axis)


def _stack(arrays: Any, axis: int = 0) -> Symbol:
    return function_of("stack", "stack")(*arrays, axis=axis)


def _reshape(a: Symbol, newshape: Any) -> Symbol:
    return function_of("Reshape", "reshape")(a, shape=newshape)


def _transpose(a: Symbol, axes: Any = None) -> Symbol:
    return function_of("transpose", "transpose")(a, **({} if axes is None else {"axes": axes}))


def _swapaxes(a: Symbol, axis1: int, axis2: int) -> Symbol:
    return function_of("SwapAxis", "swapaxes")(a, dim1=axis1, dim2=axis2)


def _split(ary: Symbol, indices_or_sections: Any, axis: int = 0) -> Symbol:
    from . import split_v2

    return split_v2(ary, indices_or_sections, axis)


_OWN: dict[str, Callable[..., Symbol]] = {
    "concatenate": _concatenate, "stack": _stack, "reshape": _reshape, "transpose": _transpose,
    "swapaxes": _swapaxes, "split": _split,
}  # fmt: skip


class _Names(ModuleType):
    def __init__(self, name: str, find: Callable[[str], Any]) -> None:
        super().__init__(f"{__package__}.{name}", f"Symbols under the names of `mx.{name}`.")
        self._find = find

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else self._find(name)
        if found is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        setattr(self, name, found)
        return found


def _of_np(name: str) -> Any:
    if name in _OWN:
        return _OWN[name]
    if name in _PAIRS:
        return _pair(name)
    return function_of(name, name) if name in _SAME else None


def _of_npx(name: str) -> Any:
    from ..numpy_extension._functions import _NAMES

    if name in ("broadcast_like", "gather_nd"):
        return function_of(name, name)
    return function_of(_NAMES[name], name) if name in _NAMES else None


np, npx = _Names("np", _of_np), _Names("npx", _of_npx)
