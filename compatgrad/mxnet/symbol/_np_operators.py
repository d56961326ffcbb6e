"""The operators in graphs of `mx.sym.np`, under the names that they have in MXNet's files.

Each operator runs a function of `mx.np`. Its line in the table has the names of inputs and parameters in graphs that
differ from those in `mx.np`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import numpy, numpy_extension
from ..ndarray._operator import parse
from ..ndarray._random_operators import context_of_argument
from ..ndarray.ndarray import NDArray
from ..numpy import _functions as _f
from ..numpy import _products, ndarray
from ..numpy import linalg as _linalg
from ..numpy._internal import declare
from ..numpy._joining import array_split

__all__ = ["BINARY", "NAMED", "UNARY", "entry"]

UNARY = (
    "abs absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh deg2rad degrees exp "
    "expm1 fix floor isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative rad2deg radians "
    "reciprocal rint sign sin sinh sqrt square tan tanh trunc"
).split()
# name -> operators of two arrays, of an array and a number, and of a number and an array
BINARY: dict[str, tuple[str, str, str]] = {}
for _name, _reverse in (
    ("add", "add"), ("subtract", "rsubtract"), ("multiply", "multiply"), ("true_divide", "rtrue_divide"),
    ("mod", "rmod"), ("power", "rpower"), ("maximum", "maximum"), ("minimum", "minimum"), ("copysign", "rcopysign"),
    ("arctan2", "rarctan2"), ("hypot", "hypot"), ("lcm", "lcm"), ("ldexp", "rldexp"), ("bitwise_and", "bitwise_and"),
    ("bitwise_or", "bitwise_or"), ("bitwise_xor", "bitwise_xor"), ("equal", "equal"), ("not_equal", "not_equal"),
    ("greater", "less"), ("less", "greater"), ("greater_equal", "less_equal"), ("less_equal", "greater_equal"),
):  # fmt: skip
    BINARY[_name] = f"_npi_{_name}", f"_npi_{_name}_scalar", f"_npi_{_reverse}_scalar"

# operator, function of mx.np, its inputs, and its parameters; "name in graphs=name in mx.np" where names differ
_TABLE = """
_np_sum sum a|_np_prod prod a|_np_max max a|_np_min min a|_np_any any data=a|_np_all all data=a|_npi_mean mean a
_npi_std std a|_npi_var var a|_npi_argmax argmax data=a|_npi_argmin argmin data=a|_np_cumsum cumsum a
_np_copy copy a|_np_reshape reshape a|_np_transpose transpose a|_np_squeeze squeeze a
_npi_expand_dims expand_dims data=a axis|_npi_swapaxes swapaxes data=a dim1=axis1 dim2=axis2
_npi_broadcast_to broadcast_to array|_npi_tile tile data=A|_np_repeat repeat data=a|_np_roll roll data=a
_npi_flip flip data=m|_npi_rot90 rot90 data=m|_np_moveaxis moveaxis a|_npi_tril tril data=m|_np_diag diag data=v
_np_diagonal diagonal data=a|_np_diagflat diagflat data=v|_np_trace trace data=a|_npi_clip clip data=a
_npi_around round x|_npi_full_like full_like a|_npi_sort sort data=a|_npi_argsort argsort data=a
_npi_diff diff a|_npi_nan_to_num nan_to_num data=x|_npi_pad pad data=x constant_value=constant_values
_npi_unique unique data=ar|_npi_average average a,weights|_np_dot dot a,b|_npi_matmul matmul a,b
_npi_tensordot tensordot a,b|_npi_take take a,indices|_npi_polyval polyval p,x
_npi_bincount bincount data=x,weights|_npi_percentile percentile a,q
_npi_ediff1d ediff1d input1=ary,input2=to_end,input3=to_begin|_npi_delete delete arr,obj
_npi_insert insert arr,values,obj|_npi_histogram histogram data=a
_npi_diag_indices_from diag_indices_from data=arr|_npi_concatenate concatenate *|_npi_stack stack *
_npi_vstack vstack *|_npi_hstack hstack *|_npi_dstack dstack *|_npi_column_stack column_stack *
_npi_zeros zeros -|_npi_ones ones -|_npi_full full - value=fill_value|_npi_arange arange -
_npi_linspace linspace -|_npi_logspace logspace -|_npi_eye eye -|_npi_identity identity - shape=n
_npi_indices indices -|_npi_hanning hanning -|_npi_hamming hamming -|_npi_blackman blackman -
_npi_cholesky linalg.cholesky A=a|_npi_inv linalg.inv A=a|_npi_det linalg.det A=a
_npi_slogdet linalg.slogdet A=a|_npi_solve linalg.solve A=a,B=b|_npi_svd linalg.svd A=a
_npi_tensorinv linalg.tensorinv a|_npi_tensorsolve linalg.tensorsolve a,b a_axes=axes
_npi_eigvals linalg.eigvals A=a|_npi_eigvalsh linalg.eigvalsh A=a|_npi_eig linalg.eig A=a
_npi_eigh linalg.eigh A=a|_npi_pinv linalg.pinv A=a|_npi_norm linalg.norm data=x|_npi_uniform random.uniform low,high
_npi_normal random.normal loc,scale|_npi_gamma random.gamma shape,scale|_npi_exponential random.exponential scale
_npi_random_randint random.randint - shape=size|_npi_choice random.choice a,p
_npi_multinomial random.multinomial -|_npi_gumbel random.gumbel loc,scale|_npi_logistic random.logistic loc,scale
_npi_rayleigh random.rayleigh scale|_npi_weibull random.weibull a|_npi_pareto random.pareto a
_npi_powerd random.power a|_np__random_shuffle random.shuffle x|_npi_resize_fallback resize a
_npi_unravel_index_fallback unravel_index indices|_npi_empty_like_fallback empty_like prototype
_npi_share_memory shares_memory a,b|_npi_outer outer a,b|_npi_inner inner a,b|_npi_vdot vdot a,b
"""
# `_npi_outer`, `_npi_inner`, `_npi_vdot` and `_npi_atleast_1d` are one operator here and several in MXNet
_WITH_NUMBERS = frozenset(("average", "bincount", "ediff1d", "delete", "insert", "percentile"))
_SEVERAL = {"histogram": 2, "slogdet": 2, "svd": 3, "eig": 2, "eigh": 2}


class NAMED:
    """One entry of the table: `op`, the function, and the names of inputs and parameters in graphs."""

    def __init__(self, line: str) -> None:
        self.op, self.function, inputs, *renamed = line.split()
        pairs = [] if inputs in "*-" else [p.rpartition("=")[::2] for p in inputs.split(",")]
        self.variadic = inputs == "*"
        self.inputs = {argument: graph or argument for graph, argument in pairs}  # argument -> name in a graph
        self.parameters_of_random = self.function.startswith("random.") and self.function != "random.shuffle"
        self.renamed = {p.partition("=")[2]: p.partition("=")[0] for p in renamed if "=" in p}


entries = {e.function: e for e in (NAMED(line) for row in _TABLE.split("\n") for line in row.split("|") if line)}
entry = entries.get


def _np(x: Any) -> Any:
    return ndarray._around(x) if isinstance(x, NDArray) else x


def function_of_name(name: str) -> Callable[..., Any]:
    """The function of `mx.np` with a dotted name."""
    found: Any = numpy
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _run_entry(e: NAMED) -> Callable[..., Any]:
    back = {v: k for k, v in (*e.inputs.items(), *e.renamed.items())}
    names = list(e.inputs)

    def run(*arrays: Any, name: Any = None, num_args: Any = None, **params: Any) -> Any:
        function = function_of_name(e.function)
        named = {back.get(k, k): v for k, v in params.items() if k not in _LEFT_OUT}
        if isinstance(named.get("ctx"), str):  # in files: "cpu(0)"
            named["ctx"] = context_of_argument(named["ctx"])
        if e.variadic:
            flat = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
            return function([_np(x) for x in flat], **named)
        open_ = [k for k in names if named.get(k) is None]  # the other inputs are numbers among the parameters
        given = {k: _np(x) for k, x in zip(open_, (x for x in arrays if x is not None), strict=False)}
        return function(**given, **{k: v for k, v in named.items() if k not in given})

    return run


_LEFT_OUT = frozenset(("is_ascend", "weighted", "has_weights", "initial", "reverse", "reflect_type", "flag", "is_int"))


def _visible(name: str) -> Any:
    if name == "unique":
        flags = ("return_index", "return_inverse", "return_counts")
        return lambda p: 1 + sum(str(p.get(f)) == "True" for f in flags)
    if name == "average":
        return lambda p: 2 if str(p.get("returned")) == "True" else 1
    return _SEVERAL.get(name.rpartition(".")[2], 1)


def _unary(name: str) -> Callable[..., Any]:
    return lambda x, name_=name, **_: getattr(_f, name_)(_np(x))


def _two(name: str) -> Callable[..., Any]:
    return lambda lhs, rhs, **_: function_of_name(name)(_np(lhs), _np(rhs))


def _number(name: str, reverse: bool) -> Callable[..., Any]:
    def run(data: Any, scalar: Any = 1.0, is_int: Any = True, **_: Any) -> Any:
        x = _np(data)
        value = int(scalar) if str(is_int) == "True" and float(scalar).is_integer() else float(scalar)
        return function_of_name(name)(*((value, x) if reverse else (x, value)))

    return run


def _split(axis_name: str = "axis") -> Callable[..., Any]:
    def run(data: Any, indices: Any = (), axis: Any = 1, squeeze_axis: Any = False, sections: Any = 0, **_: Any) -> Any:
        return array_split(_np(data), int(sections) or tuple(indices)[1:], axis=int(axis))

    return run


def _parts(params: dict[str, Any]) -> int:
    return int(params.get("sections", 0)) or len(parse(params.get("indices", "()")))


def _where(condition: Any, x: Any, y: Any) -> Any:
    return _f.where(_np(condition), _np(x), _np(y))


def _norm(data: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, flag: Any = -2) -> Any:
    """`norm` with the original's `flag`: -2 for all elements, -1 or 0 with an order, 1 and 2 for norms of matrices."""
    flag = int(flag)
    order = {-2: None, 1: "fro" if axis is not None else None, 2: "nuc"}.get(flag, ord)
    return _linalg.norm(_np(data), order, axis, keepdims)


for _name in UNARY:
    declare(f"_npi_{_name}", _unary(_name), ("x",))
for _name, (_pair, _left, _right) in BINARY.items():
    declare(_pair, _two(_name), ("x1", "x2") if _name in ("arctan2", "hypot") else ("lhs", "rhs"))
    declare(_left, _number(_name, False), ("data",))
    if _right.startswith("_npi_r"):
        declare(_right, _number(_name, True), ("data",))


def _einsum(*arrays: Any, subscripts: str = "", **_: Any) -> Any:
    flat = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
    return _products.einsum(subscripts, *map(_np, flat))


def _tensordot(a: Any, b: Any, a_axes_summed: Any = (), b_axes_summed: Any = (), **_: Any) -> Any:
    return _products.tensordot(_np(a), _np(b), (a_axes_summed, b_axes_summed))


_C = ("condition",)
declare("_npi_norm", lambda data, name=None, **p: _norm(data, **p), ("data",))
declare("_npi_where", lambda condition, x, y, **_: _where(condition, x, y), (*_C, "x", "y"))
declare("_npi_where_lscalar", lambda condition, x, scalar=0.0, **_: _where(condition, float(scalar), x), (*_C, "x"))
declare("_npi_where_rscalar", lambda condition, y, scalar=0.0, **_: _where(condition, y, float(scalar)), (*_C, "y"))
declare("_npi_where_scalar2", lambda condition, x=0.0, y=0.0, **_: _where(condition, float(x), float(y)), _C)
declare("_npi_cast", lambda data, dtype="float32", **_: _np(data).astype(dtype), ("data",))
declare("_npi_tensordot_int_axes", lambda a, b, axes=2, **_: _products.tensordot(_np(a), _np(b), int(axes)), ("a", "b"))
declare("_npi_tensordot", _tensordot, ("a", "b"))
declare("_npi_einsum", _einsum, (), variadic=True)
for _name in ("split", "hsplit", "dsplit"):
    declare(f"_npi_{_name}", _split(), ("data",), visible=_parts)
for _entry in entries.values():
    _whole = tuple(_entry.inputs.values())
    _optional = _whole[1:] if _entry.function in _WITH_NUMBERS else _whole if _entry.parameters_of_random else ()
    declare(_entry.op, _run_entry(_entry), _whole, _optional, _visible(_entry.function), _entry.variadic)


def _of_npx_random(name: str, inputs: tuple[str, ...], renamed: dict[str, str]) -> Callable[..., Any]:
    def run(*arrays: Any, name_: str = name, name: Any = None, is_logit: Any = False, **params: Any) -> Any:
        named = {renamed.get(k, k): v for k, v in params.items()}
        if isinstance(named.get("ctx"), str):
            named["ctx"] = context_of_argument(named["ctx"])
        if inputs == ("prob", "logit"):
            places = [("prob", "logit")[str(is_logit) == "True"]]
        else:
            places = [k for k in inputs if named.get(k) is None]
        given = zip(places, (_np(x) for x in arrays if x is not None), strict=False)
        return getattr(numpy_extension.random, name_)(**{**named, **dict(given)})

    return run


for _name, _inputs, _renamed in (
    ("bernoulli", ("prob", "logit"), {}),
    ("uniform_n", ("low", "high"), {"size": "batch_shape"}),
    ("normal_n", ("loc", "scale"), {"size": "batch_shape"}),
):
    declare(f"_npi_{_name}", _of_npx_random(_name, _inputs, _renamed), _inputs, _inputs)


def _slice(data: Any, begin: Any = (), end: Any = (), step: Any = (), **_: Any) -> Any:
    n = len(begin)
    parts = zip(begin, end or (None,) * n, step or (None,) * n, strict=True)
    return _np(data)[tuple(slice(*part) for part in parts)]


def _coded(a: Any, newshape: Any = (), reverse: Any = False, order: Any = "C", **_: Any) -> Any:
    return numpy_extension.reshape(_np(a), newshape, reverse=reverse)


def _atleast(n: int) -> Callable[..., Any]:
    return lambda a, **_: function_of_name(f"atleast_{n}d")(_np(a[0] if isinstance(a, (list, tuple)) else a))


for _n in (1, 2, 3):
    declare(f"_np_atleast_{_n}d", _atleast(_n), ("a",))
declare("_npi_slice", _slice, ("data",))
declare("_npi_reshape", _coded, ("a",))
declare("_npx_reshape", _coded, ("a",))
