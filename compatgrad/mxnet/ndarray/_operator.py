"""`operator`, the decorator that declares the operators of `mxnet.nd`.

A declaration is a body, which calls the engine's ops, with MXNet's names of its inputs and parameters::

    @operator("data, length?", method=True)
    def softmax(data, length=None, axis=-1, temperature=None, use_length=False, dtype=None):
        return op.softmax(data, axis=axis)

The decorator makes the public function: it checks that inputs are NDArrays, takes `out=` and `name=`, and turns errors
of ops into MXNet's errors. The body's ops are recorded one by one, so that every operator can be differentiated at any
order.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compatgrad import _C
from compatgrad.core.crossing import to
from compatgrad.core.declarations import Inputs, made_of

from .._docs import composed, type_of
from .._frontend import op as op
from ..base import MXNetError
from ._declaration import Declaration, describe
from ._declaration import parse as parse
from .ndarray import NDArray

__all__ = ["op", "operator", "operators"]

# Parameters that are axes. MXNet refuses True there; without a check it would be taken for axis 1.
AXES = frozenset(("axis", "axis1", "axis2", "dim", "dim1", "dim2"))
operators: dict[str, Callable[..., Any]] = {}  # by name, aliases included


def not_an_array(who: str, name: str, value: Any) -> AssertionError:
    """The error for an input that is no NDArray."""
    return AssertionError(f"{who}: argument {name} must have NDArray type, but got {value!r} ({type(value).__name__})")


def array_of(who: str, name: str, value: Any) -> NDArray:
    """Converts an input that is no NDArray: another frontend's Variable becomes one; for all else the error."""
    if value is None:
        raise MXNetError(f"Operator {who}: the input {name} is missing: expected an NDArray")
    return _one_of_several(who, name, value)


def _one_of_several(who: str, name: str, value: Any) -> NDArray:
    if isinstance(value, _C.Variable):
        value = to("mxnet", value)
        if isinstance(value, NDArray):
            return value
    raise not_an_array(who, name, value)


class _Missing:
    """Stands for a parameter without a default that was not given."""

    def __repr__(self) -> str:
        return "required"


_MISSING = _Missing()


def not_given(who: str, name: str) -> None:
    """Raises MXNet's error for a required parameter that was not given."""
    raise MXNetError(f"Required parameter {name} is not presented, in operator {who}")


def is_own(e: Exception) -> bool:
    """Whether an error is one of MXNet's already, or comes from a program's own code."""
    last = e.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    return isinstance(e, MXNetError) or last.tb_frame.f_code.co_filename not in _OUR_FILES


def explained(who: str, e: Exception, inputs: Sequence[Any]) -> MXNetError:
    """MXNet's error for the error of an op. The caller must raise it at once: in a variable, it would make a cycle with
    the frame in its traceback, which would keep the arrays of the call alive.
    """
    arrays = [x for x in inputs if x is not None]
    arrays = list(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
    shown = ", ".join(f"{np.dtype(x.dtype).name}{list(x.shape)}" for x in arrays if isinstance(x, NDArray))
    return MXNetError(f"Error in operator {who}: {str(e).strip()} (inputs: {shown or 'none'})")


_OUR_FILES: set[str] = {__file__}


def refuse(who: str, attrs: dict[str, Any], parameters: Sequence[str], inputs: Sequence[Any] = ()) -> None:
    """Raises MXNet's error for arguments that an operator does not have; operators without parameters ignore them.

    Names between double underscores are attributes of graphs, which every operator accepts. `num_args`, a parameter of
    operators with any number of `inputs`, must be that number.
    """
    unknown = next((n for n in attrs if n not in parameters and not (n.startswith("__") and n.endswith("__"))), None)
    if parameters and unknown is not None:
        raise MXNetError(
            f"Cannot find argument '{unknown}', Possible Arguments: {', '.join(parameters)}, in operator {who}"
        )
    if "num_args" in attrs:
        given = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
        if int(attrs["num_args"]) != len(given):
            raise MXNetError(f"operator {who}: num_args is {attrs['num_args']}, got {len(given)} inputs")


def no_axis(who: str, name: str, value: Any) -> None:
    """Raises MXNet's error for an axis that is no integer."""
    raise MXNetError(f"Invalid Parameter format for {name} expect int but value='{value}', in operator {who}")


def write(out: Any, y: Any) -> Any:
    """Writes results to `out`: an array for one result, a list for several."""
    if isinstance(out, NDArray):
        if isinstance(y, (list, tuple)):
            if len(y) != 1:
                raise MXNetError(f"out: the operator has {len(y)} results; expected as many NDArrays in a list")
            (y,) = y
        return out._take(y)
    if isinstance(out, (list, tuple)):
        ys = y if isinstance(y, (list, tuple)) else (y,)
        if len(out) != len(ys):
            raise MXNetError(f"out: the operator has {len(ys)} results, got {len(out)} NDArrays")
        for o, v in zip(out, ys, strict=True):
            o._take(v)
        return out
    raise TypeError(f"out: expected an NDArray or a list of them, got {type(out).__name__}")


_TEMPLATE = """
def {name}({signature}):
    if attrs: _refuse("{name}", attrs, _parameters{counted})
    try:
        {plain}
        {checks}
        y = _body({arguments})
    except (RuntimeError, ValueError, TypeError, IndexError) as e:
        if _is_own(e): raise
        raise _explained("{name}", e, ({inputs})) from None
    {own}
    {stored}
    return y if out is None else _write(out, y)
"""


def operator(
    inputs: str = "",
    aliases: Sequence[str] = (),
    method: bool = False,
    name: str | None = None,
    view: bool = False,
    stored: Callable[..., Any] | None = None,
    outputs: int | str | Callable[[Mapping[str, Any]], int] = 1,
    states: str = "",
    plain: tuple[str, str, Mapping[str, Any]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares an operator; the module's docstring has an example.

    `inputs`: names of the array inputs in order, "?" after an optional one, "*data" for any number of them. In
    "bias? unless no_bias" and "state_cell? if mode=lstm", a parameter determines whether there is the optional input.
    `outputs`, `states`: the results, and the inputs that the operator writes to, see `Declaration`.
    `view`: the result may share memory with an input; otherwise a view is copied.
    `method`: the operator is also a method of NDArray. `name`: MXNet's name, where it is not the body's.
    `plain`: the test for arguments that need no checks and no conversion, the call of an op on these, which must return
    no view of an input, and the names that occur in these two expressions.
    `stored(y, *arguments)`: gives the result the storage type that MXNet gives it where the first input is sparse.
    """

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        public = name or body.__name__
        declared = Inputs(inputs)
        names, variadic = declared.names, declared.variadic
        optional = {item.name for item in declared.items if item.optional}
        parameters = list(inspect.signature(body).parameters.values())
        signature, arguments, checks, scope = [], [], [], {}
        for i, p in enumerate(parameters):
            if i == 0 and variadic:
                signature.append(f"*{p.name}")
                checks.append(f"if len({p.name}) == 1 and isinstance({p.name}[0], (list, tuple)): "
                              f"{p.name} = {p.name}[0]")  # fmt: skip
                checks.append(f"{p.name} = [x if isinstance(x, _NDArray) else "
                              f"_one_of_several('{public}', '{p.name}', x) for x in {p.name}]")  # fmt: skip
                arguments.append(p.name)
                continue
            if p.default is p.empty:  # a missing argument is MXNet's error, not Python's
                signature.append(f"{p.name}={'None' if p.name in names else '_missing'}")
                if p.name not in names:
                    checks.append(f"if {p.name} is _missing: _not_given('{public}', '{p.name}')")
            else:
                scope[f"_default_{p.name}"] = p.default
                signature.append(f"{p.name}=_default_{p.name}")
            arguments.append(f"{p.name}={p.name}" if variadic else p.name)
            if p.name in names:
                none = f" and {p.name} is not None" if p.name in optional else ""
                checks.append(f"if not isinstance({p.name}, _NDArray){none}: "
                              f"{p.name} = _array_of('{public}', '{p.name}', {p.name})")  # fmt: skip
                continue
            if p.name in AXES:
                checks.append(f"if type({p.name}) is bool: _no_axis('{public}', '{p.name}', {p.name})")
            if p.default is p.empty or p.default is None or isinstance(p.default, (bool, int, float, tuple)):
                checks.append(f"if type({p.name}) is str: {p.name} = _parse({p.name})")
        own = [p.name for p in parameters if p.name not in names]
        signature += ["out=None", "name=None", "**attrs"]
        file = f"<operator {public}>"
        source = _TEMPLATE.format(
            name=public,
            signature=", ".join(signature),
            counted=f", {names[0]}" if variadic else "",
            arguments=", ".join(arguments),
            checks="\n        ".join(checks) or "pass",
            inputs="".join(f"{n}, " for n in names),
            plain="pass" if plain is None else f"if out is None and {plain[0]}: return {plain[1]}",
            own="pass" if view or not names else f"y = _own(y, {', '.join(names)})",
            stored="pass"
            if stored is None
            else f"if {names[0]}.__class__ is not _NDArray and {names[0]}.stype != "
            f"'default' and out is None: y = _stored(y, {', '.join(arguments)})",
        )
        scope |= {"_body": body, "_is_own": is_own, "_explained": explained, "_write": write, "_NDArray": NDArray,
                  "_parse": parse, "_no_axis": no_axis, "_own": _C.own, "_array_of": array_of, "_stored": stored,
                  "_one_of_several": _one_of_several, "_missing": _MISSING, "_not_given": not_given,
                  "_refuse": refuse, "_parameters": ["num_args", *own] if variadic else own}  # fmt: skip
        scope |= plain[2] if plain else {}
        _OUR_FILES.update((file, body.__code__.co_filename))
        made = describe(made_of(source, public, scope, body, file), Declaration(declared, outputs, states, body))
        made.__qualname__ = public
        _document(made, declared, parameters, outputs)
        return register(made, aliases, method)

    return declare


def _document(made: Any, inputs: Inputs, parameters: Sequence[inspect.Parameter], outputs: Any) -> None:
    """Sets the annotations and the docstring of an operator from its declaration."""
    arrays = {i.name: "NDArray | None" if i.optional else "NDArray" for i in inputs.items}
    several = outputs != 1 and not (isinstance(outputs, str) and _ONE_SEEN.fullmatch(outputs))
    always = several and _ALWAYS.fullmatch(str(outputs))
    made.__annotations__ = {
        **{p.name: arrays.get(p.name) or type_of(p.name, p.default) for p in parameters},
        "out": "NDArray | Sequence[NDArray] | None", "name": "str | None", "attrs": "Any",
        "return": "list[NDArray]" if always else "NDArray | list[NDArray]" if several else "NDArray",
    }  # fmt: skip
    names = [p.name for p in parameters]
    if inputs.variadic:
        arrays[names[0]], names[0] = "several NDArrays", f"*{names[0]}"
    returns = "A list of NDArrays." if several else f"NDArray of the dtype of `{inputs.names[0]}`."
    source = f"mxnet.nd.{shown_name(made.__name__)}"
    made.__doc__ = composed(made.__doc__, (*names, "out", "name", "**attrs"), source, returns, ERRORS, arrays)


_ONE_SEEN = re.compile(r"\w+(, \w+\?)*")  # one output that users see, and others for the gradient only
_ALWAYS = re.compile(r"\d+|\w+(, \w+)+")
ERRORS = """AssertionError: an input is no NDArray.
        mxnet.base.MXNetError: dtypes, shapes or arguments do not fit; an argument is not known."""


def shown_name(name: str) -> str:
    """An operator's name below `mxnet.nd`."""
    for prefix in ("contrib", "image"):
        if name.startswith(f"_{prefix}_"):
            return f"{prefix}.{name[len(prefix) + 2 :]}"
    return name


def register(
    function: Callable[..., Any], aliases: Sequence[str] = (), method: bool = False, inputs: str | None = None
) -> Callable[..., Any]:
    """Registers a function as an operator under its names; `inputs`, as for `operator`, makes `mx.sym` have it too."""
    if inputs is not None:
        describe(function, Declaration(inputs))
    for alias in (function.__name__, *aliases):
        operators[alias] = function
    if method:
        setattr(NDArray, function.__name__, _method(function))
    return function


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(function, _C.Op):  # a builtin does not bind to its instance

        def fluent(self: NDArray, *args: Any, **kwargs: Any) -> NDArray:
            return function(self, *args, **kwargs)

        fluent.__name__, fluent.__doc__ = function.__name__, function.__doc__
        return fluent
    return function
