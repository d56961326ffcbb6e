"""Methods of Symbol that need modules which import it: operators, inference of shapes and dtypes, running."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import executor
from .._attach import method_of
from ..base import NotImplementedForSymbol, numeric_types
from ..ndarray._operator import operators
from . import _fused as _fused
from . import _loops as _loops
from . import _shapes, _types
from ._compose import function_of
from ._evaluate import evaluate, evaluate_monitored, plan
from ._numpy import _Symbol
from .symbol import Symbol


@method_of(Symbol)
def as_np_ndarray(self: Symbol) -> Symbol:
    """The symbol as one of `mx.sym.np`."""
    return _Symbol(self._outputs)


@method_of(Symbol)
def infer_shape(self: Symbol, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """Shapes of arguments, outputs and states from those of some arguments, in order or by name.

    Three Nones if they do not suffice; MXNetError if they contradict each other.
    """
    return _shapes.infer_shape(self, args, kwargs, False)


@method_of(Symbol)
def infer_shape_partial(self: Symbol, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """`infer_shape` that gives () for shapes it does not find."""
    return _shapes.infer_shape(self, args, kwargs, True)


@method_of(Symbol)
def infer_type(self: Symbol, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """Types of arguments, outputs and states from those of some arguments, in order or by name.

    Three Nones if they do not suffice; MXNetError if they contradict each other.
    """
    return _types.infer_type(self, args, kwargs, False)


@method_of(Symbol)
def infer_type_partial(self: Symbol, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """`infer_type` that gives None for types it does not find."""
    return _types.infer_type(self, args, kwargs, True)


@method_of(Symbol)
def eval_imperative(self: Symbol, arrays: dict[str, Any]) -> list[Any]:
    """The outputs from NDArrays by names of variables; recorded inside `autograd.record()`.

    MXNetError names a variable that is missing, or the operator that fails.
    """
    if self._plan is None or self._plan.heads != self._outputs:
        self._plan = plan(self._outputs)
    return evaluate(self._plan, arrays)


@method_of(Symbol)
def _eval_monitored(
    self: Symbol, arrays: dict[str, Any], callback: Any, inputs: bool, watched: Any = None
) -> list[Any]:
    """`eval_imperative`, which calls `callback` with the name and the array of each output of each operator.

    watched: a list that gets an `_evaluate.Watched` for each operator, which has the gradients after backward.
    """
    states = self.list_auxiliary_states() if watched is not None else ()
    return evaluate_monitored(self._outputs, arrays, callback, inputs, states, watched)


@method_of(Symbol)
def bind(
    self: Symbol, ctx: Any, args: Any, args_grad: Any = None, grad_req: Any = "write", aux_states: Any = None,
    group2ctx: Any = None, shared_exec: Any = None,
) -> Any:  # fmt: skip
    """An Executor with arrays for the arguments, and arrays for their gradients if wanted."""
    return executor.Executor(self, ctx, args, args_grad, grad_req, aux_states)


@method_of(Symbol)
def simple_bind(
    self: Symbol, ctx: Any, grad_req: Any = "write", type_dict: Any = None, stype_dict: Any = None,
    group2ctx: Any = None, shared_arg_names: Any = None, shared_exec: Any = None,
    shared_buffer: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """An Executor with new arrays; the keyword arguments are shapes of arguments."""
    return executor.simple_bind(
        self, ctx, grad_req, type_dict, stype_dict, kwargs, shared_arg_names, shared_exec, group2ctx, shared_buffer
    )


@method_of(Symbol, "__getattr__")
def _operator(self: Symbol, name: str) -> Any:
    if name.startswith("_") or name not in operators:
        raise AttributeError(f"'Symbol' object has no attribute '{name}'")
    function = function_of(name, name)
    return lambda *args, **kwargs: function(self, *args, **kwargs)


@method_of(Symbol)
def astype(self: Symbol, dtype: Any) -> Symbol:
    """The symbol cast to another type."""
    return function_of("cast", "cast")(self, dtype=dtype)


@method_of(Symbol)
def reshape(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """The symbol in another shape, given as a tuple or as several numbers."""
    if args and all(isinstance(n, int) for n in args):
        args = (tuple(args),)
    return function_of("reshape", "reshape")(self, *args, **kwargs)


@method_of(Symbol)
def transpose(self: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    """The axes in another order, given as a tuple or as several numbers, or reversed."""
    if args and all(isinstance(n, int) for n in args):
        args = (tuple(args),)
    kwargs = {**kwargs, "axes": args[0]} if args else kwargs
    return function_of("transpose", "transpose")(self, **kwargs)


def split_v2(
    ary: Symbol, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Splits a symbol into equal parts, or before given positions.

    Args:
        ary: Symbol.
        indices_or_sections: the number of equal parts, or the rising positions before which to cut.
        axis: the axis; negative ones count from the end.
        squeeze_axis: parts of length 1 lose the axis.

    Returns:
        Symbol of as many outputs as there are parts.

    Raises:
        TypeError: `ary` is no Symbol.
        mxnet.base.MXNetError: if shapes are known, the axis cannot be cut so.

    Example:
        >>> first, rest = mx.sym.split_v2(mx.sym.var("x"), [1])
        >>> rest.eval(x=nd.array([1.0, 2.0, 3.0]))[0].asnumpy()
        array([2., 3.], dtype=float32)

    Source: `mxnet.sym.split_v2` of MXNet 1.9.1.
    """
    if isinstance(indices_or_sections, int):
        options = {"sections": indices_or_sections, "indices": ()}
    else:
        options = {"indices": (0, *indices_or_sections), "sections": 0}
    return function_of("_split_v2", "_split_v2")(ary, axis=axis, squeeze_axis=squeeze_axis, **options)


Symbol.split_v2 = split_v2  # type: ignore[attr-defined]


@method_of(Symbol)
def _part(self: Symbol, key: tuple[Any, ...]) -> Symbol:
    """`x[key]` for a symbol of mx.sym.np, with integers, slices and None for the first axes.

    TypeError for another key, because the number of axes is not known.
    """
    x = self
    begin, end, step, single, new = [], [], [], [], []
    for k in key:
        if k is None:
            new.append(len(begin) - len(single) + len(new))
        elif isinstance(k, slice):
            begin, end, step = [*begin, k.start], [*end, k.stop], [*step, k.step]
        elif isinstance(k, int):
            single.append(len(begin))
            begin, end, step = [*begin, k], [*end, None if k == -1 else k + 1], [*step, None]
        elif k is Ellipsis and k is key[-1]:
            break
        else:
            raise TypeError(f"Symbol: an index may hold integers, slices and None, got {k!r} in {key}")
    if begin:
        x = function_of("slice", "slice")(x, begin=tuple(begin), end=tuple(end), step=tuple(step))
    if single:
        x = function_of("squeeze", "squeeze")(x, axis=tuple(single))
    for axis in new:
        x = function_of("expand_dims", "expand_dims")(x, axis=axis)
    return x


def _named(name: str) -> Callable[..., None]:
    def function() -> None: ...

    function.__name__ = name
    return function


_OPERATORS = {
    # slot -> (operator of two symbols, its hint), (operator with a number, its hint)
    "add": (("elemwise_add", "_plus"), ("_plus_scalar", "_plusscalar")),
    "radd": (("elemwise_add", "_plus"), ("_plus_scalar", "_plusscalar")),
    "sub": (("elemwise_sub", "_minus"), ("_minus_scalar", "_minusscalar")),
    "rsub": (None, ("_rminus_scalar", "_rminusscalar")),
    "mul": (("elemwise_mul", "_mul"), ("_mul_scalar", "_mulscalar")),
    "rmul": (("elemwise_mul", "_mul"), ("_mul_scalar", "_mulscalar")),
    "truediv": (("elemwise_div", "_div"), ("_div_scalar", "_divscalar")),
    "rtruediv": (None, ("_rdiv_scalar", "_rdivscalar")),
    "mod": (("_mod", "_mod"), ("_mod_scalar", "_modscalar")),
    "rmod": (None, ("_rmod_scalar", "_rmodscalar")),
    "pow": (("_power", "_power"), ("_power_scalar", "_powerscalar")),
    "rpow": (None, ("_rpower_scalar", "_rpower_scalar")),
    "eq": (("_equal", "_equal"), ("_equal_scalar", "_equal_scalar")),
    "ne": (("_not_equal", "_not_equal"), ("_not_equal_scalar", "_not_equal_scalar")),
    "gt": (("_greater", "_greater"), ("_greater_scalar", "_greater_scalar")),
    "ge": (("_greater_equal", "_greater_equal"), ("_greater_equal_scalar", "_greater_equal_scalar")),
    "lt": (("_lesser", "_lesser"), ("_lesser_scalar", "_lesser_scalar")),
    "le": (("_lesser_equal", "_lesser_equal"), ("_lesser_equal_scalar", "_lesser_equal_scalar")),
}


def _slot(pair: tuple[str, str] | None, number: tuple[str, str]) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol) and pair is not None:
            return function_of(*pair)(self, other)
        if isinstance(other, numeric_types):
            return function_of(*number)(self, scalar=other)
        raise TypeError(f"type {type(other)} not supported: expected a Symbol or a number")

    return method


for _key, (_pair, _number) in _OPERATORS.items():
    setattr(Symbol, f"__{_key}__", _slot(_pair, _number))
Symbol.__neg__ = lambda self: self * -1.0  # type: ignore[attr-defined]
Symbol.__abs__ = lambda self: function_of("abs", "abs")(self)  # type: ignore[attr-defined]


def _array_only(name: str) -> Callable[..., Any]:
    def method(self: Symbol) -> Any:
        raise NotImplementedForSymbol(_named(name))

    method.__name__ = name
    method.__doc__ = "Raises NotImplementedForSymbol: only arrays have this method."
    return method


for _key in ("asnumpy", "asscalar", "copy", "as_in_context", "detach", "backward", "wait_to_read"):
    setattr(Symbol, _key, _array_only(_key))


def _in_place(sign: str) -> Callable[..., Any]:
    def method(self: Symbol, other: Any) -> Any:
        raise NotImplementedForSymbol(_named(sign), sign, other)

    return method


for _key, _sign in (("iadd", "+="), ("isub", "-="), ("imul", "*="), ("itruediv", "/=")):
    setattr(Symbol, f"__{_key}__", _in_place(_sign))
