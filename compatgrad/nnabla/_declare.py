"""Declarations of the functions of `nnabla.functions`, and the calls of these functions. A declaration is a body, which
calls the engine's ops, together with nnabla's names::

    @function("LeakyReLU", "x", primitive=True)
    def leaky_relu(x, alpha=0.1, inplace=False):
        return op.leaky_relu(x, slope=alpha)

Each call adds one function to the graph. Where the body calls a single op with exactly the inputs (`primitive`), the
op's node is the function. Otherwise the function is a `Composite`: its forward runs the body on tensors, and its
gradient, of any order, is that of the body.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad import core as _core
from compatgrad.core import bridge, notes
from compatgrad.core.configuration import using_modes
from compatgrad.core.declarations import Inputs, made_of
from compatgrad.core.masks import EVERY_INPUT
from compatgrad.nnabla import context as _context
from compatgrad.nnabla._arguments import (
    check_written,
    cut,
    explain,
    is_optional,
    number_of_outputs,
    whole_arguments,
)
from compatgrad.nnabla._direct import Direct, direct_parts
from compatgrad.nnabla._documents import NO_INPUT, OUTPUTS, merged
from compatgrad.nnabla._frontend import constant, fe, op
from compatgrad.nnabla._nd_array import NdArray, NotAVariable
from compatgrad.nnabla.variable import Variable, _around

__all__ = ["Info", "constant", "device", "function", "op", "specs"]


class Info:
    """The value of `Function.info`: the type of the function, its arguments and the tags that a user has set."""

    __slots__ = ("args", "context", "tags", "type_name")

    def __init__(self, type_name: str, args: dict[str, Any], tags: Any = None) -> None:
        self.context = _context.current_ctx
        self.type_name = type_name
        self.args = args
        self.tags = {} if tags is None else tags


class Spec:
    """One declared function."""

    def __init__(self, type_name: str, inputs: str, body: Callable[..., Any], options: dict[str, Any]) -> None:
        self.type_name = type_name
        self.body = body
        self.made: Callable[..., Any]  # the public function
        self.name = body.__name__
        declared = Inputs(inputs)
        self.variadic, self.inputs, self.optional = declared.variadic, declared.names, declared.optional
        self.primitive: bool = options.pop("primitive", False)
        self.effects: bool = options.pop("effects", False)
        self.setup: str | None = options.pop("setup", None)
        self.defaults: dict[str, Callable[..., Any]] = options.pop("defaults", {})
        self.draws: Callable[..., Any] | None = options.pop("draws", None)
        self.drawn: tuple[str, ...] = tuple(options.pop("drawn", ()))
        self.host: Callable[..., Any] = options.pop("host", Composite)
        self.dtypes: str | None = options.pop("dtypes", None)
        #: Whether forward records the body for backward, which otherwise runs the body again: a choice between memory
        #: and time.
        self.records: bool = options.pop("records", False)
        #: Whether the node of the body's op may be the function itself.
        self.claims = self.primitive and not self.draws and self.setup is None
        self.direct: Direct | None = options.pop("direct", None)
        integers = set(options.pop("integers", ()))
        if options:
            raise TypeError(f"function {type_name}: unknown options {sorted(options)}")
        self.integers = sum(1 << i for i, n in enumerate(self.inputs) if n in integers)
        parameters = self.declared = list(inspect.signature(body).parameters.values())
        taken = 1 if self.variadic else len(self.inputs)
        rest = parameters[taken + len(self.drawn) :]
        self.passes_n_outputs = any(p.name == "n_outputs" for p in rest)
        self.args = tuple(p.name for p in rest if p.name != "n_outputs")
        self.whole: list[int] | None = None  # indices of the arguments that are integers; set by the first call
        self.parameters = [p for p in rest if p.name != "n_outputs"]

    def run(self, inputs: Sequence[Any], drawn: Sequence[Any], args: Sequence[Any], n_outputs: int) -> Any:
        extra = {"n_outputs": n_outputs} if self.passes_n_outputs else {}
        global in_bodies
        in_bodies += 1
        try:
            if self.variadic:
                return self.body(*inputs, *drawn, **dict(zip(self.args, args, strict=True)), **extra)
            return self.body(*inputs, *drawn, *args, **extra)
        finally:
            in_bodies -= 1


specs: dict[str, Spec] = {}  # by type name
#: Number of bodies of functions that are running. In a body, operators broadcast by the engine's rules.
in_bodies = 0
#: Number of composites whose gradients are being recorded: the ops of their bodies do not count as functions of the
#: program.
in_gradients = 0
#: Whether the running body may update running statistics, which happens once, in the forward pass.
updating = False


def device() -> torch.device:
    """The torch device of the current context."""
    return _context.device_of(_context.current_ctx)


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _versions(xs: Sequence[Any]) -> list[int | None]:
    """Numbers that change when the tensor of a Variable is written to."""
    return [None if x is None else x.tensor._version for x in xs]


class Composite:
    """A function made of several ops, with the methods of the engine's host protocol (csrc/python/host.cpp)."""

    on_arrays = 0
    saves = EVERY_INPUT

    def __init__(self, spec: Spec, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int) -> None:
        self.spec, self.args, self.n_outputs = spec, args, n_outputs
        self.integers = spec.integers
        if spec.effects:
            self.changes_inputs = True
        if spec.dtypes == "any":
            self.integers = EVERY_INPUT
        self.state = spec.draws(**dict(zip(spec.args, args, strict=True))) if spec.draws else None
        self.drawn: list[torch.Tensor] = []
        self.sources = [None if x is None else x.data for x in inputs] if spec.setup == "data" else None
        self.first: list[torch.Tensor] | None = None  # the results that `infer` has already computed
        self.half, self.device = _context.is_half(_context.current_ctx), device()
        self.records = spec.records and not self.half and any(x is not None and x.requires_grad for x in inputs)
        self.recorded: tuple[list[int | None], list[Any], tuple[Any, ...]] | None = None
        self.values: list[torch.Tensor] | None = None  # of a function of no inputs, if they are few

    def _source(self, i: int, array: NdArray | None) -> torch.Tensor | None:
        """The tensor of input i, in the dtype in which the body gets it, for `infer`."""
        if array is None:
            return None
        array._move(self.device)
        t = array.read()
        if self.spec.dtypes == "any":
            return t if t.is_floating_point() else t.long()
        if self.integers >> i & 1:
            return t.long()
        return t if t.dtype == torch.float16 else t.float()

    def infer(self, shapes: list[tuple[int, ...] | None]) -> list[tuple[int, ...]]:
        if self.sources is not None:
            self.first = self.forward([self._source(i, a) for i, a in enumerate(self.sources)])
            return [tuple(t.shape) for t in self.first]
        with using_modes(auto_forward=False, deferred=True, plain=False):
            inputs = [None if s is None else Variable(s) for s in shapes]
            drawn = []
            if self.state is not None:
                self.drawn = getattr(self.state, "meta", self.state)(shapes)
                drawn = [Variable(t.shape) for t in self.drawn]
            result = self.spec.run(inputs, drawn, self.args, self.n_outputs)
        return [tuple(y.shape) for y in _as_tuple(result)]

    def _body(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return _as_tuple(self.spec.run(inputs, [constant(t) for t in self.drawn], self.args, self.n_outputs))

    def forward(self, tensors: list[torch.Tensor | None]) -> list[torch.Tensor]:
        if notes.listener is not None:
            notes.listener("composed", self.spec.type_name)
        if not (self.spec.inputs or self.half or _C.traced() or torch.is_inference_mode_enabled()):
            return self._without_inputs()
        if self.state is not None:
            self.drawn = self.state([None if t is None else tuple(t.shape) for t in tensors])
        self.recorded = None
        global updating
        updating = True
        try:
            if not self.records:
                return self.forward_again(tensors)
            xs, ys = self._record(tensors, [t is not None and t.is_floating_point() for t in tensors])
        finally:
            updating = False
        self.recorded = _versions(xs), xs, ys
        return [y.tensor for y in ys]

    def _without_inputs(self) -> list[torch.Tensor]:
        """What the function draws, or copies of its constant results, because a program may write into them."""
        if self.state is not None:
            self.drawn = self.state([])
            return list(self.drawn)  # the body returns them
        if self.values is None:
            ys = self.forward_again([])
            if sum(map(torch.numel, ys)) > 1 << 13:
                return ys
            self.values = ys
        return [y.clone() for y in self.values]

    def _record(self, tensors: Sequence[torch.Tensor | None], wanted: list[bool]) -> tuple[list[Any], tuple[Any, ...]]:
        """Runs the body as a graph of the native frontend, with gradients of the inputs that are `wanted`."""
        with using_modes(plain=True, deferred=False, enable_backprop=True):
            xs = [
                None if t is None else _core.Variable(t, requires_grad=w) for t, w in zip(tensors, wanted, strict=True)
            ]
            return xs, self._body(xs)

    def forward_again(self, tensors: list[torch.Tensor | None]) -> list[torch.Tensor]:
        with using_modes(plain=True, deferred=False, enable_backprop=False):
            inputs = [None if t is None else _core.Variable(t, requires_grad=False) for t in tensors]
            ys = [y.tensor for y in self._body(inputs)]
        return [y.half() if y.dtype == torch.float32 else y for y in ys] if self.half else ys

    def backward(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[torch.Tensor | None]:
        recorded, self.recorded = self.recorded, None
        if recorded is not None and recorded[0] == _versions(recorded[1]):  # as in nnabla, the values of forward
            _, xs, ys = recorded
        else:
            xs, ys = self._record(inputs, wanted)
        with using_modes(plain=True, deferred=False, enable_backprop=True):
            gxs = self._gradient(
                _C.native_frontend, xs, ys, [None if g is None else constant(g) for g in gradients], wanted, False
            )
        return [None if g is None else g.tensor for g in gxs]

    def gradient(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[Any]:
        # Identities of the inputs: a path outside this function from one input to another must not count in its
        # gradient.
        xs = [x if x is None or not w else op.identity(x) for x, w in zip(inputs, wanted, strict=True)]
        drawn = []
        if self.drawn:
            y = next(y for y in outputs if y is not None)
            drawn = [_late(self, y, i) for i in range(len(self.drawn))]
        ys = _as_tuple(self.spec.run(xs, drawn, self.args, self.n_outputs))
        return self._gradient(fe, xs, ys, gradients, wanted, True)

    @staticmethod
    def _gradient(frontend: Any, xs: Any, ys: Any, gradients: Any, wanted: list[bool], again: bool) -> list[Any]:
        some = [(y, g) for y, g in zip(ys, gradients, strict=False) if g is not None and y.requires_grad]
        asked = [i for i, w in enumerate(wanted) if w]
        global in_gradients
        in_gradients += 1
        try:
            found = (
                _C.grad(
                    frontend,
                    [y for y, _ in some],
                    [xs[i] for i in asked],
                    [g for _, g in some],
                    enable_double_backprop=again,
                )
                if some
                else [None] * len(asked)
            )
        finally:
            in_gradients -= 1
        result: list[Any] = [None] * len(wanted)
        for i, g in zip(asked, found, strict=True):
            result[i] = g
        return result

    def kept(self) -> dict[str, torch.Tensor]:
        """The tensors that backward reads, by name, for drawings of graphs."""
        return {f"drawn {i}": t for i, t in enumerate(self.drawn)}


class _Reader:
    """A function that returns, when it runs, a tensor that `owner` drew in its last forward."""

    on_arrays, saves, integers = 0, 0, 0

    def __init__(self, owner: Composite, index: int) -> None:
        self.owner, self.index = owner, index

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [tuple(self.owner.drawn[self.index].shape)]

    def forward(self, tensors: Any) -> list[torch.Tensor]:
        return [self.owner.drawn[self.index]]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[None]:
        return [None] * len(wanted)

    gradient = backward


def _late(owner: Composite, output: Any, index: int) -> Any:
    (value,) = _C.apply_host(fe, _Reader(owner, index), [output], Info("Drawn", {}))
    value.need_grad = False
    return value


def _place(ys: Sequence[Any], outputs: Sequence[NdArray] | None) -> None:
    """Makes the arrays that the caller gave the results' arrays."""
    for y, array in zip(ys, outputs or (), strict=False):
        if array is None:
            continue
        if array.size != y.size:
            raise RuntimeError(f"outputs: an array of shape {array.shape} does not fit a result of shape {y.shape}")
        if y.data._touched:
            value = y.data.read().reshape(array.shape)
            if array._touched and array._dtype == value.dtype:
                array.tensor.copy_(value)  # in place, so that views of the array change too
            else:
                array.tensor = value
        y.data = array


def _run_at_once(spec: Spec, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int, outputs: Any) -> Any:
    """Runs a function on NdArrays, without a graph; returns NdArrays."""
    variables = [_around(x) if isinstance(x, NdArray) else x for x in inputs]
    with using_modes(auto_forward=True, enable_backprop=False):
        ys = _as_tuple(call(spec, variables, args, n_outputs, None))
    _place(ys, outputs)
    arrays = tuple(y.data for y in ys)
    return arrays[0] if len(arrays) == 1 else arrays


def call(spec: Spec, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int = -1, outputs: Any = None) -> Any:
    """Adds a function to the graph, or runs it at once where an input is an NdArray. Raises TypeError, with the name,
    where an input is neither a Variable nor an NdArray, or an argument must be a tuple.
    """
    try:
        return _call(spec, inputs, args, n_outputs, outputs)
    except TypeError as e:
        if "not iterable" in str(e) or "has no len()" in str(e):
            explain(spec, args)
        raise


def _call(spec: Spec, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int, outputs: Any) -> Any:
    if spec.variadic and not inputs:
        raise AssertionError(f"{spec.name.strip('_')} must take more than 1 inputs")
    if type(n_outputs) is not int:
        n_outputs = number_of_outputs(spec, n_outputs)
    for i, x in enumerate(inputs):
        if isinstance(x, _C.DeferredVariable):
            continue
        if isinstance(x, NdArray):
            return _run_at_once(spec, inputs, args, n_outputs, outputs)
        if isinstance(x, _C.Variable):  # of another framework
            inputs = [_entered(v) for v in inputs]
            continue
        if not (x is None and is_optional(spec, i)):
            name = f"{spec.name.strip('_')}: {spec.inputs[0 if spec.variadic else i]}"
            raise NotAVariable(f"{name}: expected a Variable or an NdArray, got {type(x).__name__}")
    args = shown = [a.item() if isinstance(a, np.generic) else a for a in args]
    if spec.whole is None:
        whole = whole_arguments().get(spec.type_name, ())
        spec.whole = [i for i, name in enumerate(spec.args) if name in whole]
    for i in spec.whole:
        if type(args[i]) is not int:
            args[i] = cut(args[i])
    if spec.defaults:
        for name, default in spec.defaults.items():
            i = spec.args.index(name)
            if args[i] is None:
                args[i] = default(*inputs)
    if spec.effects:
        check_written(spec, inputs)
        for i, x in enumerate(inputs):
            if x is not None and not spec.integers >> i & 1 and x.data._dtype == torch.float64:
                x.data._set_dtype(torch.float32)  # the body would write into a float32 copy
    for a in args:
        if isinstance(a, (tuple, range)):
            shown = [list(a) if isinstance(a, (tuple, range)) else a for a in args]
            break
    info = Info(spec.type_name, dict(zip(spec.args, shown, strict=True)))
    if spec.claims:
        result = spec.run(inputs, (), args, n_outputs)
        ys = _as_tuple(result)
        if _C.claim(ys, inputs, info):
            if outputs:
                _place(ys, outputs)
            return result
    host = spec.host(spec, inputs, args, n_outputs)
    if notes.listener is not None:
        notes.listener("composed", spec.type_name, calls=0)  # called here, and run by a later forward
    ys = _C.apply_host(fe, host, inputs, info)
    if isinstance(host, Composite) and host.first is not None:
        for y, t in zip(ys, host.first, strict=True):
            y.data.tensor = t
        host.first = None
    if outputs:
        _place(ys, outputs)
    return ys[0] if len(ys) == 1 else tuple(ys)


def _entered(x: Any) -> Any:
    if not isinstance(x, _C.Variable) or isinstance(x, _C.DeferredVariable):
        return x
    return bridge.cross(x, fe)


def _documented(spec: Spec, shared: Sequence[str]) -> str | None:
    """The docstring of a function: that of its body, completed by `shared` sections and by the entries that all
    functions have."""
    text = spec.body.__doc__
    if text is None or spec.name.startswith("_"):
        return text
    all_have = (OUTPUTS, NO_INPUT) if spec.inputs else (OUTPUTS,)
    names = (*spec.inputs, *spec.args, "n_outputs", "outputs")
    return merged(text, (*shared, *all_have), names, f"nnabla.functions.{spec.name}")


_TEMPLATE = """
def {name}({signature}):
    return _call(_spec, {inputs}, [{args}], n_outputs, outputs)
"""


# The template for bodies of one op. Where all inputs are Variables and all arguments have the types that the body
# declares, nothing needs preparation, and `info_of` makes the value of `Function.info` when it is read.
_QUICK = """
def {name}({signature}):{direct}
    if outputs is None and n_outputs is _n_outputs and {tests}:{defaults}
        y = _body({passed})
        if _claim((y,) if isinstance(y, _Variable) else y, {inputs}, (_spec, ({shown}), _context.current_ctx)):
            return y
    return _call(_spec, {inputs}, [{args}], n_outputs, outputs)
"""


_OPERATORS = frozenset(code for name, code in dis.opmap.items() if name.startswith(("BINARY", "UNARY")))
# Names in bodies that are no ops: checks, which return an axis or nothing, and attributes of Variables.
_HARMLESS = frozenset((
    "op", "float", "list", "ndim", "ValueError", "RuntimeError",
    "_axes", "check_axis", "check_broadcast", "check_joined", "check_label", "check_same_shape",
))  # fmt: skip
_INT = frozenset((int,))
# The test of an argument in `_QUICK`, by the argument's annotation.
_TESTS = {
    "int": "type({0}) is int",
    "float": "type({0}) in _numbers",
    "bool": "type({0}) in _numbers",
    "Sequence[int]": "type({0}) in _lists and _int.issuperset(map(type, {0}))",
}


def _quick_parts(spec: Spec) -> dict[str, str] | None:
    """The parts of `_QUICK` that differ between functions: tests, the computation of defaults, the arguments for the
    info. None if the body is not one op with plain arguments."""
    if not spec.claims or spec.passes_n_outputs or spec.effects:
        return None
    names = set(spec.body.__code__.co_names) - _HARMLESS
    operators = not _OPERATORS.isdisjoint(spec.body.__code__.co_code[::2])
    if len(names) != 1 or not hasattr(op, *names) or operators:
        return None
    if spec.variadic:
        tests = ["{0} and _plain.issuperset(map(type, {0}))".format(*spec.inputs)]
    else:
        optional = zip(spec.inputs, spec.optional, strict=True)
        tests = [
            f"({n} is None or isinstance({n}, _Variable))" if o else f"isinstance({n}, _Variable)" for n, o in optional
        ]
    defaults, shown = "", ""
    for p in spec.parameters:
        kind, _, none = str(p.annotation).partition(" | ")
        kind = "float" if p.name == "val" else kind
        if kind not in _TESTS or none not in ("", "None") or (none and p.name not in spec.defaults):
            return None
        test = _TESTS[kind].format(p.name)
        if none and kind == "int":
            test = f"({p.name} is None or {test})"
            given = f"*{spec.inputs[0]}" if spec.variadic else ", ".join(spec.inputs)
            defaults += f"\n        if {p.name} is None:\n            {p.name} = _default_of[{p.name!r}]({given})"
        tests.append(test)
        shown += f"[*{p.name}]," if kind == "Sequence[int]" else f"{p.name},"
    return {"tests": " and ".join(tests), "defaults": defaults, "shown": shown}


def function(type_name: str, inputs: str = "", **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function: see the docstring of this module. Options: primitive: the body is one op on the inputs.
    effects: the function writes into its inputs' arrays. integers: names of the inputs that are labels or indices.
    draws, drawn: a factory of the function that draws random tensors at each forward, and the names of the body's
    arguments for them. defaults: a dict from arguments to functions of the inputs, which compute arguments that are
    None. direct: a `Direct`, by which a call with defaults runs no body. setup="data": the shape of the result depends
    on the inputs' values. dtypes="any": inputs keep their dtypes. host: the class that runs the function instead of
    `Composite`. shared: sections of docstrings that related functions have in common.
    """

    def declare(body: Callable[..., Any]) -> Callable[..., Any]:
        own = dict(options)
        shared = own.pop("shared", ())
        spec = Spec(type_name, inputs, body, own)
        specs[type_name] = spec
        parts, defaults, needs_default = [], {}, False
        if spec.variadic:
            parts.append(f"*{spec.inputs[0]}")
        else:
            arrays = spec.declared[: len(spec.inputs)]
            for p, optional in zip(arrays, spec.optional, strict=True):
                needs_default |= optional or p.default is not p.empty
                parts.append(f"{p.name}=None" if needs_default else p.name)
        for p in spec.parameters:
            if p.default is p.empty and not needs_default:
                parts.append(p.name)
            else:
                needs_default = True
                defaults[f"_default_{p.name}"] = None if p.default is p.empty else p.default
                parts.append(f"{p.name}=_default_{p.name}")
        n_outputs = next((p for p in spec.declared if p.name == "n_outputs"), None)
        default_n = n_outputs.default if n_outputs is not None else -1
        parts += [f"n_outputs={default_n!r}", "outputs=None"]
        given = spec.inputs[0] if spec.variadic else "(" + "".join(f"{n}, " for n in spec.inputs) + ")"
        quick = _quick_parts(spec)
        passed = [*([f"*{given}"] if spec.variadic else spec.inputs), *(f"{a}={a}" for a in spec.args)]
        direct, direct_names = direct_parts(spec, _HARMLESS) if quick else ("", {})
        source = (_QUICK if quick else _TEMPLATE).format(
            name=spec.name,
            direct=direct,
            signature=", ".join(parts),
            inputs=given,
            args=", ".join(spec.args),
            passed=", ".join(passed),
            **(quick or {}),
        )
        scope = {"_call": call, "_spec": spec, **defaults}
        if quick:
            scope |= {"_body": body, "_claim": _C.claim, "_context": _context, "_default_of": spec.defaults}
            scope |= {"_n_outputs": default_n}  # a call with another value runs the code that checks the value
            scope |= {"_Variable": _C.DeferredVariable, "_numbers": frozenset((bool, int, float)), "_int": _INT}
            scope |= direct_names
            scope |= {"_plain": frozenset((Variable,)), "_lists": frozenset((list, tuple))}
        made = made_of(source, spec.name, scope, body)
        made.__qualname__, made.spec, made.__doc__ = body.__qualname__, spec, _documented(spec, shared)
        types = {**body.__annotations__, "n_outputs": "int", "outputs": "Sequence[NdArray | None] | None"}
        made.__annotations__ = {name: t for name, t in types.items() if name not in spec.drawn}
        spec.made = made
        return made

    return declare
