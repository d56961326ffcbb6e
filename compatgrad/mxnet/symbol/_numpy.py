"""`mx.sym.np` and `mx.sym.npx`: the functions of `mx.np` and `mx.npx` on symbols.

Graphs hold MXNet's own operators, so that its files can be read and written; the functions of `mx.np` run them. Results
are symbols of the class `mx.sym.np._Symbol`, which behave like arrays of `mx.np`; `as_np_ndarray` gives one too.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..base import MXNetError, numeric_types
from ..ndarray._operator import operators, refuse
from ..numpy._padding import check_options
from ..numpy_extension import random as _npx_random
from ..numpy_extension._functions import GRAPH_NAMES
from ..util import _check_ufunc_options
from . import _np_operators as _graph
from ._compose import function_of
from ._custom import Custom
from ._facts import inputs_of
from .symbol import Symbol, load, load_json

__all__ = ["_Symbol", "np", "npx"]

_SPELLED = {"fabs": "abs", "divide": "true_divide", "remainder": "mod", "round_": "round", "around": "round",
            "amax": "max", "amin": "min", "product": "prod", "sometrue": "any", "invert": "bitwise_not",
            "row_stack": "vstack", "may_share_memory": "shares_memory", "alltrue": "all"}  # fmt: skip


def _as_np(s: Any) -> Any:
    if isinstance(s, Symbol):
        return s if isinstance(s, _Symbol) else _Symbol(s._outputs)
    return [_as_np(v) for v in s] if isinstance(s, (list, tuple)) else s


def _node(op: str, hint: str, symbols: Any, params: dict[str, Any]) -> _Symbol:
    return _as_np(function_of(op, hint)(*symbols, **params))


def _unary(name: str) -> Callable[..., Any]:
    def call(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        if not isinstance(x, Symbol):
            return _graph.function_of_name(name)(x)
        return _node(f"_npi_{name}", name, [x], {})

    return call


def _binary(name: str) -> Callable[..., Any]:
    pair, left, right = _graph.BINARY[name]

    def call(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(name, kwargs)
        for x in (x1, x2):
            if not isinstance(x, (Symbol, *numeric_types)):
                raise TypeError(f"type {type(x)} not supported: expected a Symbol or a number")
        if isinstance(x1, Symbol) and isinstance(x2, Symbol):
            return _node(pair, name, [x1, x2], {})
        if not isinstance(x1, Symbol) and not isinstance(x2, Symbol):
            return _graph.function_of_name(name)(x1, x2)
        number = x2 if isinstance(x1, Symbol) else x1
        whole = isinstance(number, int) or not hasattr(number, "is_integer")
        options = {"scalar": float(number), "is_int": whole}
        op, x = (left, x1) if isinstance(x1, Symbol) else (right, x2)
        return _node(op, op.removeprefix("_npi_"), [x], options)

    return call


# keywords of functions whose signature, like the original's, has **kwargs, but which refuse other keywords
_PARAMETERS = {"prod": ("axis", "dtype", "keepdims"), "round": ("decimals",)}


def _named(name: str) -> Callable[..., Any]:
    e = _graph.entry(name)
    assert e is not None
    short = name.rpartition(".")[2]

    def call(*args: Any, **kwargs: Any) -> Any:
        extra = {k: kwargs.pop(k) for k in ("name", "attr") if k in kwargs}
        try:
            given_ = inspect.signature(_graph.function_of_name(name)).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{short}: {error}") from None
        bound = given_.arguments
        if e.parameters_of_random:
            given_.apply_defaults()
            bound = {k: v for k, v in given_.arguments.items() if v is not None}
        for part in [k for k in bound if k in ("kwargs", "arys", "size_")]:
            rest = bound.pop(part)
            if short == "pad":
                check_options(bound.get("mode", "constant"), rest)
            elif short in _PARAMETERS:
                refuse(short, rest, _PARAMETERS[short])
            bound.update(rest if isinstance(rest, dict) else {"a": rest[0]})
        params = {k: v for k, v in bound.items() if k != "out"}
        if e.variadic:
            symbols = list(params.pop(next(iter(params))))
        else:
            symbols = [params.pop(k) for k in e.inputs if isinstance(params.get(k), Symbol)]
            given = [k for k in e.inputs if k not in params and k in bound]
            if given != list(e.inputs)[: len(given)]:  # an input between them is a number, or missing
                names = [e.inputs[k] for k in given]
                named = dict(zip(names, symbols, strict=True))
                symbols, extra = [], {**extra, **named}
        if short == "choice":
            params["weighted"] = isinstance(bound.get("p"), Symbol)
        stray = next((k for k, v in params.items() if isinstance(v, Symbol)), None)
        if stray is not None:
            raise MXNetError(f"{short}: {stray} cannot be a symbol")
        node = _node(e.op, short, symbols, {**{e.renamed.get(k, k): v for k, v in params.items()}, **extra})
        return _with_none(node, e.inputs.values()) if e.parameters_of_random and short != "choice" else node

    return call


def _with_none(s: _Symbol, names: Any) -> _Symbol:
    """Sets parameters that are inputs of the node to None, as in MXNet's files."""
    params = s._outputs[0][0].params
    for name in names:
        params.setdefault(name, "None")
    return s


def _split(name: str, axis: int | None = None, equal: bool = True) -> Callable[..., Any]:
    def call(ary: Symbol, indices_or_sections: Any, axis_: int = 0) -> Any:
        along = axis_ if axis is None else axis
        whole = isinstance(indices_or_sections, int)
        options = {"indices": () if whole else (0, *indices_or_sections), "axis": along, "squeeze_axis": False,
                   "sections": indices_or_sections if whole else 0}  # fmt: skip
        s = _node("_npi_dsplit" if name == "dsplit" else "_npi_split", name, [ary], options)
        if name == "dsplit" or not isinstance(s, Symbol):
            return s
        return [s[i] for i in range(len(s))] if len(s) > 1 else [s]

    if axis is not None:
        return lambda ary, indices_or_sections: call(ary, indices_or_sections)
    return lambda ary, indices_or_sections, axis=0: call(ary, indices_or_sections, axis)


def _where(condition: Symbol, x: Any, y: Any) -> Any:
    if not isinstance(x, Symbol) and not isinstance(y, Symbol):
        return _node("_npi_where_scalar2", "where", [condition], {"x": float(x), "y": float(y)})
    if isinstance(x, Symbol) and isinstance(y, Symbol):
        return _node("_npi_where", "where", [condition, x, y], {})
    if isinstance(x, Symbol):
        return _node("_npi_where_rscalar", "where", [], {"condition": condition, "y": x, "scalar": float(y)})
    return _node("_npi_where_lscalar", "where", [], {"condition": condition, "x": y, "scalar": float(x)})


def _einsum(subscripts: str, *operands: Symbol, out: Any = None, optimize: Any = False) -> Any:
    return _node("_npi_einsum", "einsum", operands, {"subscripts": subscripts, "optimize": int(bool(optimize))})


def _tensordot(a: Symbol, b: Symbol, axes: Any = 2) -> Any:
    if isinstance(axes, int):
        return _node("_npi_tensordot_int_axes", "tensordot", [a, b], {"axes": axes})
    left, right = ((v,) if isinstance(v, int) else tuple(v) for v in axes)
    return _node("_npi_tensordot", "tensordot", [a, b], {"a_axes_summed": left, "b_axes_summed": right})


def _ravel(x: Symbol, order: str = "C") -> Any:
    return np.reshape(x, -1)


def _append(arr: Symbol, values: Symbol, axis: Any = None) -> Any:
    return np.concatenate([arr, values], axis=axis)


def _filled(value: float) -> Callable[..., Any]:
    return lambda a, dtype=None, order="C", ctx=None, out=None: np.full_like(a, value, dtype=dtype)


def _norm(x: Symbol, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    several = axis is not None and not isinstance(axis, int) and len(axis) == 2
    if ord is None and axis is None:
        flag = -2
    elif several or (axis is None and ord in ("fro", "nuc")):
        flag = 2 if ord == "nuc" else 1 if ord in (None, "fro") else 0
    else:
        flag = -1
    number = 2.0 if ord is None or isinstance(ord, str) else float(ord)
    return _node("_npi_norm", "norm", [x], {"ord": number, "axis": axis, "keepdims": keepdims, "flag": flag})


def _atleast(n: int) -> Callable[..., Any]:
    def call(*arys: Symbol) -> Any:
        made = [_node(f"_np_atleast_{n}d", f"atleast_{n}d", [a], {}) for a in arys]
        return made[0] if len(made) == 1 else made

    return call


def _quantile(
    a: Symbol, q: float, axis: Any = None, out: Any = None, overwrite_input: Any = None, interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    return np.percentile(a, q * 100, axis, out, overwrite_input, interpolation, keepdims)


def _rand(*size: int, **kwargs: Any) -> Any:
    """Uniform numbers in [0, 1), of the shape that the arguments give."""
    return np.random.uniform(size=size, **kwargs)


def _lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Numbers whose logarithms are normal ones."""
    return np.exp(np.random.normal(mean, sigma, size, **_unless_none(dtype=dtype, ctx=ctx)))


def _chisquare(df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Sums of `df` squares of normal numbers."""
    return np.random.gamma(df / 2, 2.0, size, **_unless_none(dtype=dtype, ctx=ctx))


def _beta(a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Numbers of the beta distribution, computed from two gamma distributions."""
    options = _unless_none(dtype=dtype, ctx=ctx)
    x, y = np.random.gamma(a, 1.0, size, **options), np.random.gamma(b, 1.0, size, **options)
    return x / (x + y)


def _multivariate_normal(mean: Symbol, cov: Symbol, size: Any = None, check_valid: Any = None, tol: Any = None) -> Any:
    """Normal vectors with a mean and a covariance matrix; in MXNet's files it is a custom operator."""
    options = {"size": size, "check_valid": check_valid, "tol": tol}
    return _as_np(Custom(mean, cov, op_type="mvn_fallback", **_unless_none(**options)))


def _unless_none(**options: Any) -> dict[str, Any]:
    return {k: v for k, v in options.items() if v is not None}


_OWN: dict[str, Callable[..., Any]] = {
    "split": _split("split"), "array_split": _split("array_split", equal=False), "vsplit": _split("vsplit", 0),
    "hsplit": _split("hsplit", 1), "dsplit": _split("dsplit", 2), "where": _where, "einsum": _einsum, "ravel": _ravel,
    "tensordot": _tensordot, "append": _append, "zeros_like": _filled(0), "ones_like": _filled(1),
    "linalg.norm": _norm, "flipud": lambda m: np.flip(m, 0), "fliplr": lambda m: np.flip(m, 1),
    "quantile": _quantile, "random.rand": _rand, "random.lognormal": _lognormal, "random.chisquare": _chisquare,
    "random.beta": _beta, "random.multivariate_normal": _multivariate_normal,
    **{f"atleast_{n}d": _atleast(n) for n in (1, 2, 3)},
}  # fmt: skip


def _of_np(name: str, inside: str = "") -> Any:
    full = inside + _SPELLED.get(name, name)
    if full in _OWN:
        return _OWN[full]
    if full in _graph.UNARY:
        return _unary(full)
    if full in _graph.BINARY:
        return _binary(full)
    return _named(full) if _graph.entry(full) else None


def _reshape(
    a: Symbol | None = None,
    newshape: Any = None,
    reverse: bool = False,
    order: str = "C",
    name: str | None = None,
    attr: dict[str, str] | None = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    for key in kwargs:
        if not (key.startswith("__") and key.endswith("__")):  # attributes of the node are allowed
            known = "newshape, reverse, order"
            raise MXNetError(f"Cannot find argument '{key}', Possible Arguments: {known}, in operator _npx_reshape")
    options = _unless_none(a=a, newshape=newshape, reverse=reverse, order=order, name=name, attr=attr)
    return _as_np(function_of("_npx_reshape", "reshape")(**options, **kwargs))


def _of_npx(name: str) -> Any:
    if name == "reshape":
        return _reshape
    found = GRAPH_NAMES.get(name)
    return None if found is None else lambda *args, **kwargs: _as_np(function_of(found, name)(*args, **kwargs))


def _of_random(name: str) -> Any:
    """The function for `bernoulli`, `uniform_n` or `normal_n`."""
    op, own = f"_npi_{name}", {"batch_shape": "size"}
    if op not in operators:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(getattr(_npx_random, name)).bind(*args, **kwargs)
        bound.apply_defaults()
        given = {own.get(k, k): v for k, v in bound.arguments.items() if v is not None and k != "out"}
        if name == "bernoulli":
            if ("prob" in given) == ("logit" in given):
                raise ValueError("bernoulli: either prob or logit must be given, and not both")
            given["is_logit"] = "logit" in given
        s = _as_np(function_of(op, name)(**given))
        return _with_none(s, inputs_of(op))

    return call


def _of_image(name: str) -> Any:
    if f"_image_{name}" not in operators:
        return None
    return lambda *args, **kwargs: _as_np(function_of(f"_image_{name}", name)(*args, **kwargs))


class _Names(ModuleType):
    def __init__(self, name: str, find: Callable[[str], Any]) -> None:
        super().__init__(f"{__package__}.{name}", f"Symbols under the names of `mx.{name}`.")
        self._find = find

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else self._find(name)
        if found is None:
            from compatgrad.names.absent import no_attribute

            raise no_attribute(self, name)
        found.__name__ = found.__qualname__ = name
        setattr(self, name, found)
        return found


def _part(s: Symbol, key: tuple[Any, ...]) -> Any:
    """`s[key]`, composed of MXNet's operators: slice, reshape and expand_dims."""
    if Ellipsis in key[:-1]:
        raise MXNetError("a symbol's index can have an Ellipsis at its end only: the number of axes is not known")
    key = tuple(k for k in key if k is not Ellipsis)
    slices, codes = [], []
    added = []
    for k in key:
        if k is None:
            added.append(len(codes) - codes.count(-3) + len(added))
        elif isinstance(k, slice):
            slices.append((k.start, k.stop, k.step))
            codes.append(-2)
        elif isinstance(k, int) and not isinstance(k, bool):
            slices.append((k, k + 1 if k != -1 else None, None))
            codes.append(-3)
        else:
            raise TypeError(f"a symbol's index must consist of integers, slices, None and Ellipsis, got {k!r}")
    if slices:
        begin, end, step = (tuple(v) for v in zip(*slices, strict=True))
        s = _node("_npi_slice", "slice", [s], {"begin": begin, "end": end, "step": step})
    if -3 in codes:
        s = _node("_npi_reshape", "reshape", [s], {"newshape": (*codes, -4)})
    for axis in added:
        s = np.expand_dims(s, axis)
    return s


class _Symbol(Symbol):
    """A symbol with the operators, indexing and methods of arrays of `mx.np`."""

    _numpy = True

    def as_nd_ndarray(self) -> Symbol:
        """The symbol as one of `mx.sym`."""
        return Symbol(self._outputs)

    def as_np_ndarray(self) -> Symbol:
        """Itself."""
        return self

    def __getitem__(self, key: Any) -> Symbol:
        if len(self) > 1 or isinstance(key, str):
            return _as_np(Symbol.__getitem__(self, key))
        return _part(self, key if isinstance(key, tuple) else (key,))

    def __iter__(self) -> Any:
        if len(self) == 1:
            raise TypeError("a symbol of one array cannot be iterated: its length is not known")
        return (_as_np(Symbol([e])) for e in self._outputs)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The symbol cast to another type."""
        return _node("_npi_cast", "cast", [self], {"dtype": dtype})

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        """The same elements in another shape, given as one tuple or as several lengths."""
        shape = kwargs.pop("newshape", args[0] if len(args) == 1 else args)
        return np.reshape(self, shape, **kwargs)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, given as one tuple or as several numbers, or reversed."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return np.transpose(self, order or None)

    def flatten(self, order: str = "C") -> Any:
        """All elements in one axis."""
        return np.ravel(self)

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            function = getattr(np, name)
            return lambda *args, **kwargs: function(self, *args, **kwargs)
        return Symbol.__getattr__(self, name)

    def __neg__(self) -> Any:
        return np.negative(self)

    def __abs__(self) -> Any:
        return np.abs(self)

    def __invert__(self) -> Any:
        return np.bitwise_not(self)

    __hash__ = object.__hash__


_METHODS = frozenset(
    "sum prod max min mean std var any all argmax argmin argsort sort cumsum round clip dot swapaxes squeeze take "
    "repeat ravel diagonal trace broadcast_to tile copy flip expand_dims".split()
)
for _slot, _function in (
    ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "true_divide"), ("mod", "mod"),
    ("pow", "power"), ("matmul", "matmul"), ("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor"),
    ("eq", "equal"), ("ne", "not_equal"), ("gt", "greater"), ("ge", "greater_equal"), ("lt", "less"),
    ("le", "less_equal"),
):  # fmt: skip
    setattr(_Symbol, f"__{_slot}__", lambda self, other, f=_function: getattr(np, f)(self, other))
    if _slot not in ("eq", "ne", "gt", "ge", "lt", "le"):
        setattr(_Symbol, f"__r{_slot}__", lambda self, other, f=_function: getattr(np, f)(other, self))

np, npx = _Names("np", _of_np), _Names("npx", _of_npx)
np.linalg = _Names("np.linalg", lambda name: _of_np(name, "linalg."))  # type: ignore[attr-defined]
np._internal = _Names("np._internal", lambda name: function_of(f"_npi_{name}", name))  # type: ignore[attr-defined]
np.random = _Names("np.random", lambda name: _of_np(name, "random."))  # type: ignore[attr-defined]
npx.random = _Names("npx.random", _of_random)  # type: ignore[attr-defined]
npx.image = _Names("npx.image", _of_image)  # type: ignore[attr-defined]
np._Symbol = _Symbol  # type: ignore[attr-defined]
np.load, np.load_json = (lambda f: lambda x: _as_np(f(x)))(load), (lambda f: lambda x: _as_np(f(x)))(load_json)
for _name, _module in (("np", np), ("npx", npx), ("numpy", np), ("numpy_extension", npx), ("numpy.linalg", np.linalg),
                       ("numpy.random", np.random), ("numpy_extension.image", npx.image),
                       ("numpy_extension.random", npx.random)):  # fmt: skip
    sys.modules[f"{__package__}.{_name}"] = _module
