"""The functions of `mx.sym`: each operator has one, which creates a node."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .. import ndarray
from ..attribute import AttrScope
from ..base import MXNetError, _Null
from ..name import NameManager
from ..ndarray._operator import operators, refuse
from ..ndarray._scalars import SCALARS
from ._facts import GRAPH_NAMES, aux_inputs, canonical, inputs_of, is_variadic, n_visible, needed_inputs
from ._graph import Node, _is_attribute, text
from ._parameter_checks import check_parameters
from .symbol import Symbol

__all__ = ["function_of", "implementation"]


@functools.cache
def implementation(op: str) -> Callable[..., Any]:
    """The function of NDArrays that runs an operator of a graph; MXNetError for an unknown operator."""
    if op in SCALARS:
        return SCALARS[op]
    if op in operators:
        return operators[op]
    if op.startswith("elemwise_"):
        return operators[op.replace("elemwise_", "broadcast_")]
    for name, graph_name in GRAPH_NAMES.items():
        if graph_name == op and name in operators:
            return operators[name]
    if op.startswith("_") and op[1:] in operators:
        return operators[op[1:]]
    for prefix, module in (("_contrib_", "contrib"), ("_image_", "image"), ("_linalg_", "linalg")):
        found = getattr(getattr(ndarray, module, None), op[len(prefix) :], None) if op.startswith(prefix) else None
        if callable(found):
            return found
    raise MXNetError(f"there is no operator {op}")


def _declared(op: str) -> list[inspect.Parameter] | None:
    """The parameters of an operator as it was declared; None if it has no signature, or accepts any parameters."""
    try:
        function = implementation(op)
        found = inspect.signature(getattr(function, "body", function)).parameters.values()
    except (TypeError, ValueError, MXNetError):
        return None
    return None if getattr(function, "any_parameters", False) else list(found)


@functools.cache
def parameters(op: str) -> tuple[str, ...] | None:
    """Names of the arguments of an operator in order; None if the signature does not list them."""
    found = _declared(op)
    if found is None or (any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found) and not is_variadic(op)):
        return None
    return tuple(p.name for p in found if p.kind is not p.VAR_POSITIONAL and p.name not in ("out", "name"))


_INITS = {"moving_avg": '["zero", {}]', "moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}


def node_of(op: str, hint: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
    """A new node for a call; inputs that are missing become variables named after it."""
    kwargs = dict(kwargs)
    name, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
    kwargs.pop("out", None)
    given: dict[str, Any] = {}
    entries: list[Any] = []
    if is_variadic(op):
        flat = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        flat = [*flat, *(kwargs.pop(k) for k in list(kwargs) if isinstance(kwargs[k], Symbol))]
        for i, s in enumerate(flat):
            if not isinstance(s, Symbol):
                raise TypeError(f"{hint}: argument {i}: expected a Symbol, got {type(s)}")
            entries += s._outputs
        kwargs.setdefault("num_args", len(entries))
    else:
        names = inputs_of(op)
        positions = list(names) + [p for p in parameters(op) or () if p not in names]
        if len(args) > len(positions):
            raise TypeError(f"{hint}: expected at most {len(positions)} arguments, got {len(args)}")
        for n, value in zip(positions, args, strict=False):
            if n in kwargs and value is not None:
                raise TypeError(f"{hint}: argument {n} came twice")
            given[n] = value
    given.update(kwargs)
    inputs = inputs_of(op)
    # a parameter may be None, but an input, a dtype or a context that is None counts as left out
    given = {k: v for k, v in given.items() if v is not _Null and (v is not None or k not in (*inputs, "dtype", "ctx"))}
    params = {k: text(v) for k, v in given.items() if not isinstance(v, Symbol)}
    _refuse_unknown(op, hint, params)
    check_parameters(op, hint, params)
    attrs = dict(AttrScope._current.value.get(attr))
    attrs.update({k: params.pop(k) for k in list(params) if _is_attribute(k)})
    name = NameManager._current.value.get(name, hint.lower())
    if not is_variadic(op):
        for i, n in enumerate(needed_inputs(op, params)):
            value = given.pop(n, None)
            if value is None:
                own = dict(attrs) if i not in aux_inputs(op) else {**attrs, "__init__": _INITS.get(n, "")}
                if op == "LeakyReLU":  # the default slope of "leaky" is the initial slope of "prelu"
                    own.setdefault("__init__", '["Constant", {"value": 0.25}]')
                entries.append((Node(None, f"{name}_{n}", attrs={**params, **own}), 0))
            elif not isinstance(value, Symbol):
                raise TypeError(f"{hint}: argument {n}: expected a Symbol, got {type(value)}")
            elif len(value._outputs) != 1:
                raise MXNetError(f"{hint}: argument {n} is a group of {len(value._outputs)} symbols, expected one")
            else:
                entries.append(value._outputs[0])
        for n, value in given.items():
            if isinstance(value, Symbol) and inputs_of(op):  # as in MXNet, operators without inputs ignore it
                if n not in inputs_of(op):
                    raise MXNetError(f"{hint}: {n} is no input; the inputs are {', '.join(inputs_of(op))}")
                entries.append(value._outputs[0])
    return Node(op, name, entries, params, attrs)


def _flat(args: tuple[Any, ...]) -> Any:
    return args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args


# parameters that in MXNet choose among implementations of the same result
IGNORED = frozenset(("num_args", "workspace", "cudnn_tune", "cudnn_off", "cudnn_algo_verbose", "deterministic"))


# parameters of RNN, whose function on arrays takes them in **kwargs
_OF_RNN = (
    "state_size", "num_layers", "bidirectional", "mode", "p", "state_outputs", "projection_size", "lstm_state_clip_min",
    "lstm_state_clip_max", "lstm_state_clip_nan", "use_sequence_length",
)  # fmt: skip


@functools.cache
def _keywords(op: str) -> tuple[str, ...] | None:
    """The names of an operator's parameters; None if the signature does not list them, or allows any."""
    if op == "RNN":
        return _OF_RNN
    found = _declared(op)
    if found is None or any(p.kind is p.VAR_KEYWORD and p.name == "_" for p in found):
        return None
    inputs = inputs_of(op)
    named = [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    more = ["num_args"] if is_variadic(op) else [] if inputs else ["ctx"]
    return tuple(n for n in [*named, *more] if n not in inputs and n not in ("out", "name"))


def _refuse_unknown(op: str, hint: str, params: dict[str, str]) -> None:
    """MXNet's error for keywords that an operator does not have."""
    known = _keywords(op)
    if known is None:
        return
    unknown = {k: v for k, v in params.items() if k not in known and k not in IGNORED and not _is_attribute(k)}
    if unknown:
        refuse(hint, {k: v for k, v in unknown.items() if k not in inputs_of(op)}, known)


_DOC = """{summary}

    The result is a node of a graph; `mx.nd.{name}` computes the same at once.

    Args:
        *args: {inputs}
        **kwargs: inputs and parameters by name; `name`, that of the node; `attr`, a dict of its attributes, or
            attributes themselves, named like `__key__`.

    Returns:
        Symbol.

    Raises:
        TypeError: an input is no Symbol, an argument came twice, or there are too many.
        mxnet.base.MXNetError: a parameter is unknown, a size is no integer, or an input is a group of several symbols.

    Example:
        >>> mx.sym.{name}({call}name="y")
        <Symbol y>

    Source: {source}
    """
_OF_NUMPY = "an operator behind `mxnet.np` of MXNet 1.9.1."
# operators that `mxnet.sym` of MXNet 1.9.1 does not have
_OF_ARRAYS_ONLY = frozenset((
    "adagrad_update", "adamw_update", "add", "digamma", "divide", "equal", "exponential_like", "gamma_like",
    "generalized_negative_binomial_like", "greater", "greater_equal", "group_adagrad_update", "lesser",
    "lesser_equal", "linalg_syevd", "log_sigmoid", "logical_and", "logical_or", "logical_xor", "masked_log_softmax",
    "masked_softmax", "mish", "modulo", "mp_adamw_update", "multi_adamw_update", "multi_lamb_update",
    "multi_mp_adamw_update", "multi_mp_lamb_update", "multiply", "negative_binomial_like", "normal_like",
    "not_equal", "poisson_like", "retain", "sparse_retain", "subtract", "true_divide", "uniform_like",
))  # fmt: skip
# parameters that determine the number of results, so that examples in docstrings need them
_NEEDED = {
    "SliceChannel": "num_outputs=2, ", "_split_v2": "indices=(), sections=2, ",
    **dict.fromkeys(("_npi_dsplit", "_npi_hsplit", "_npi_split"), "sections=2, "),
}  # fmt: skip


def _doc(name: str, op: str) -> str:
    """The docstring of an operator's function on symbols; its summary is that of the function on arrays."""
    inputs = inputs_of(op)
    if is_variadic(op):
        said, call = "the inputs, any number of Symbols, or one sequence of them.", 'mx.sym.var("a"), mx.sym.var("b"), '
    elif inputs:
        names = ",\n            ".join(", ".join(inputs[i : i + 7]) for i in range(0, len(inputs), 7))
        said = f"the inputs, Symbols: {names}.\n            Missing ones become variables named after the node; "
        said += "parameters may follow, in the other function's order."
        call = f'{inputs[0]}=mx.sym.var("{inputs[0]}"), {_NEEDED.get(op, "")}'
    else:
        said, call = "parameters, in the order of the other function.", ""
    text = implementation(op).__doc__ or ""
    source = f"`mxnet.sym.{name}` of MXNet 1.9.1."
    if name.startswith("_") or name in _OF_ARRAYS_ONLY:
        source = text.rpartition("Source: ")[2].rstrip() if "Source: " in text else _OF_NUMPY
    return _DOC.format(summary=text.partition("\n")[0], name=name, inputs=said, call=call, source=source)


@functools.cache
def function_of(op: str, hint: str) -> Callable[..., Any]:
    """The function of symbols for an operator; automatic names of its nodes begin with `hint`."""
    given, op = op, canonical(op)

    def compose(*args: Any, **kwargs: Any) -> Any:
        node = node_of(op, hint, args, kwargs)
        # if an input is a symbol of mx.sym.np, so is the result
        kind = next((type(s) for s in (*_flat(args), *kwargs.values()) if isinstance(s, Symbol) and s._numpy), Symbol)
        return kind([(node, i) for i in range(n_visible(op, node.params))])

    compose.__name__ = compose.__qualname__ = hint
    compose.__doc__ = _doc(given, op)
    return compose
