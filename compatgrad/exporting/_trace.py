"""Runs a network on tensors without values and records its ATen calls in a list."""

from __future__ import annotations

import linecache
import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import compatgrad
from compatgrad import _C

__all__ = ["Call", "ExportError", "Trace", "Value"]

aten = torch.ops.aten
_VIEWS = (aten.view.default, aten._unsafe_view.default, aten.expand.default, aten.alias.default)

_FILLS = {aten.zero_.default: aten.zeros_like.default, aten.fill_.Scalar: aten.full_like.default}


class ExportError(RuntimeError):
    """The error for a network that cannot be written as one graph of ATen calls; the message names the call and the
    line.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import interop
        >>> try:
        ...     interop.export(lambda x: x * float(x.tensor.sum()), torch.ones(2), frontend="compatgrad")
        ... except interop.ExportError:
        ...     print("a value is read")
        a value is read

    Source: `compatgrad/exporting/_trace.py`.
    """


@dataclass(eq=False)
class Value:
    """A tensor of a trace: an input, a tensor of the state, a constant, or a result of a call."""

    kind: str  # "input", "state", "constant", "result"
    source: Any  # number of the input, name in the state, values of the constant, or the call
    fake: torch.Tensor
    index: int | None = None  # which result of a call with several
    place: int = 0  # address of a constant's memory
    key: Any = None  # key of a constant's memory, to find it again
    real: torch.Tensor | None = None  # for a constant, the tensor of the code

    @property
    def memory(self) -> int:
        """Equal for values that are views of the same memory."""
        place: int = self.fake.untyped_storage()._cdata
        return place


@dataclass(eq=False)
class Call:
    """An ATen call, with Values in place of tensors."""

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[Value] = field(default_factory=list)
    several: bool = False

    def inputs(self) -> list[Value]:
        return [v for v in _pytree.tree_leaves((self.args, self.kwargs)) if isinstance(v, Value)]

    def written(self) -> list[Value]:
        """The Values that it writes to."""
        return written_arguments(self.op, self.args, self.kwargs) if self.op._schema.is_mutable else []

    def is_random(self) -> bool:
        return torch.Tag.nondeterministic_seeded in self.op.tags


def written_arguments(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The tensors, or Values, that a call writes to."""
    given = dict(zip((a.name for a in op._schema.arguments), args, strict=False)) | dict(kwargs)
    marked = [given.get(a.name) for a in op._schema.arguments if a.alias_info and a.alias_info.is_write]
    return [v for v in _pytree.tree_leaves(marked) if isinstance(v, (torch.Tensor, Value))]


class Trace(TorchDispatchMode):
    """A mode in which ATen calls run only on shapes and dtypes, and are recorded.

    state: the tensors of the network's state by name. Real tensors in calls are looked up there by their memory; others
        are constants.
    """

    def __init__(self, state: Mapping[str, torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's has no types
        self.calls: list[Call] = []
        self.inputs: list[Value] = []
        self.outputs: Any = None
        self._shapes = FakeTensorMode(allow_non_fake_inputs=True)
        self._values: dict[int, Value] = {}
        self._aliases: list[torch.Tensor] = []  # kept alive, so that no other tensor gets their ids
        self._real: dict[tuple[Any, ...], list[Value]] = {}
        self._state = [(t.data_ptr(), t.data_ptr() + _extent(t), name, t) for name, t in state.items() if t.numel()]

    # ---- values ------------------------------------------------------------------------------------------------------

    def new_input(self, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        with self._shapes:
            fake = torch.empty(tuple(shape), dtype=like.dtype, device=like.device)
        self.inputs.append(self._known(Value("input", len(self.inputs), fake)))
        return fake

    def _known(self, value: Value) -> Value:
        self._values[id(value.fake)] = value
        self._aliases.append(value.fake)
        return value

    def value(self, t: torch.Tensor) -> Value:
        """The Value of a tensor in a call or in the network's results."""
        known = self._values.get(id(t))
        if known is not None:
            return known
        if isinstance(t, FakeTensor):
            raise ExportError(
                f"a call gets a tensor of shape {tuple(t.shape)} from an earlier run: the code keeps a state between "
                "calls that is not a parameter or buffer of the exported network"
            )
        return self._value_of_real(t)

    def _value_of_real(self, t: torch.Tensor) -> Value:
        with _disable_current_modes():
            key = (t.data_ptr(), t.dtype, tuple(t.shape), t.stride())
            found = self._real.setdefault(key, [])
            for value in found:
                # otherwise NumPy has written to its memory
                if value.kind != "constant" or torch.equal(value.source, t):
                    return value
            for start, end, name, tensor in self._state if t.numel() else ():
                if start <= t.data_ptr() < end and t.dtype == tensor.dtype:
                    value = self._part_of(name, tensor, t)
                    break
            else:
                copy, fake = t.detach().clone(), self._shapes.from_tensor(t.detach())
                value = Value("constant", copy, fake, place=t.data_ptr(), key=key, real=t)
            found.append(value)
        return self._known(value)

    def fixed_places(self) -> set[int]:
        """The addresses of the arrays whose values the graph contains."""
        return {v.place for values in self._real.values() for v in values if v.kind == "constant"}

    def _part_of(self, name: str, whole: torch.Tensor, t: torch.Tensor) -> Value:
        key = (whole.data_ptr(), whole.dtype, tuple(whole.shape), whole.stride())
        found = self._real.setdefault(key, [])
        if not found:
            found.append(self._known(Value("state", name, self._shapes.from_tensor(whole.detach()))))
        if key == (t.data_ptr(), t.dtype, tuple(t.shape), t.stride()):
            return found.pop()  # the caller puts it back
        offset = (t.data_ptr() - whole.data_ptr()) // t.element_size() + whole.storage_offset()
        args = (found[0], list(t.shape), list(t.stride()), offset)
        with self._shapes:
            fake = aten.as_strided.default(found[0].fake, *args[1:])
        return self._record(aten.as_strided.default, args, {}, fake)[0]

    # ---- calls -------------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":  # a query of the device
            with self._shapes:
                return func(*args, **kwargs)
        with self:
            result = func.decompose(*args, **kwargs)  # the calls that a composite operation consists of
        if result is not NotImplemented:
            return result
        flat, structure = _pytree.tree_flatten((args, kwargs))
        given = [self.value(a) if isinstance(a, torch.Tensor) else a for a in flat]
        fake_args, fake_kwargs = _pytree.tree_unflatten(
            [v.fake if isinstance(v, Value) else v for v in given], structure
        )
        with self._shapes:
            result = func(*fake_args, **fake_kwargs)
        if func is aten.detach.default or (func in _VIEWS and result.shape == given[0].fake.shape):
            # the same values: detaching from autograd does not change what is computed
            self._values[id(result)] = given[0]
            self._aliases.append(result)
            return result
        own = {id(v.fake): a for v, a in zip(given, flat, strict=True) if isinstance(v, Value)}
        given_args, given_kwargs = _pytree.tree_unflatten(given, structure)
        self._record(func, given_args, given_kwargs, result)
        if func._schema.is_mutable:  # a call that writes to an argument returns the argument itself
            return _pytree.tree_map_only(torch.Tensor, lambda t: own.get(id(t), t), result)
        return result

    def _record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> list[Value]:
        call = Call(func, args, kwargs, several=isinstance(result, (tuple, list)))
        held = {id(v.fake) for v in call.inputs() if v.kind == "state"}
        for k, t in enumerate(result if call.several else [result]):
            if isinstance(t, torch.Tensor):
                value = Value("result", call, t, k if call.several else None)
                call.results.append(value)
                if id(t) not in held:  # a written tensor of the state still belongs to the state
                    self._known(value)
        self.calls.append(call)
        for v in call.written():
            if v.key is not None and call.results:  # later reads of this memory read the result
                self._real[v.key] = call.results[:1]
                call.results[0].key, call.results[0].place = v.key, v.place
        return call.results

    # ---- the whole ---------------------------------------------------------------------------------------------------

    def run(self, network: Callable[..., Any], *args: Any) -> None:
        """Runs `network` and sets `outputs` to its result tensors, in their structure."""
        was = _C.set_tracing(False)
        try:  # before tracing is on: an interrupt between the two would leave it on
            _C.set_tracing(True)
            with self:
                result = network(*args)
                self.outputs = _pytree.tree_map_only(torch.Tensor, self.value, result)
        finally:
            _C.set_tracing(was)

    def written_arrays(self) -> list[torch.Tensor]:
        """The arrays of the code to which it writes."""
        written = (v for call in self.calls for v in call.written())
        return list({v.place: v.real for v in written if v.real is not None}.values())

    def without_writes(self) -> None:
        """Replaces calls that write to a tensor by calls that return a new one, if no other view of it is read later.

        Autograd may refuse to differentiate calls that write.
        """
        views: dict[int, list[Value]] = {}
        first: dict[int, int] = {}
        last: dict[int, float] = {}
        for k, call in enumerate(self.calls):
            for v in call.inputs():
                last[id(v)] = k
                first.setdefault(id(v), k)
                if v.kind == "constant":
                    views.setdefault(v.memory, []).append(v)
        last.update((id(v), float("inf")) for v in _pytree.tree_leaves(self.outputs) if isinstance(v, Value))
        for k, call in enumerate(self.calls):
            written = call.written()
            if len(written) == 1 and _may_go(written[0], call, k, first):
                if all(last.get(id(v), -1) <= k for v in views.get(written[0].memory, [])):
                    _make_functional(call)
            for v in call.results:
                views.setdefault(v.memory, []).append(v)

    def drop_dead(self) -> None:
        """Removes calls whose results are not used."""
        live = [v for v in _pytree.tree_leaves(self.outputs) if isinstance(v, Value)]
        used, memories = {id(v) for v in live}, {v.memory for v in live}
        memories |= {v.memory for v in self.inputs}
        kept = []
        for call in reversed(self.calls):
            written = call.written()
            if any(v.kind == "state" or v.place or v.memory in memories for v in written) or any(
                id(v) in used for v in call.results
            ):
                kept.append(call)
                used.update(id(v) for v in call.inputs())
                memories.update(v.memory for v in call.inputs())
        self.calls = kept[::-1]


def _may_go(written: Value, call: Call, k: int, first: Mapping[int, int]) -> bool:
    """Whether a write to a tensor is invisible outside: to a result of a call, or to a buffer that is filled before it
    is used."""
    if written.kind == "result":
        return True
    fills = call.op in _FILLS or (call.op is aten.copy_.default and call.args[1].fake.shape == written.fake.shape)
    return written.kind == "constant" and fills and first[id(written)] == k


def _make_functional(call: Call) -> None:
    """Changes a call that writes to one tensor into a call that returns the result, if such an operation exists."""
    op, args = call.op, call.args
    if op is aten.copy_.default:
        to, source = args[0].fake, args[1]
        if to.dtype == source.fake.dtype and to.shape == source.fake.shape:
            call.op, call.args, call.kwargs = aten.clone.default, (source,), {}
        return
    if op in _FILLS:
        call.op = _FILLS[op]
        return
    wanted = [a.name for a in op._schema.arguments if not a.is_out]
    packet = getattr(aten, op.overloadpacket.__name__.removesuffix("_"), None)
    for overload in packet.overloads() if packet is not None else ():
        found = getattr(packet, overload)
        arguments = found._schema.arguments
        if not found._schema.is_mutable and [a.name for a in arguments] == wanted:
            same = {a.name: a.type for a in op._schema.arguments}
            if all(a.type == same[a.name] for a in arguments):
                call.op = found
                call.kwargs = {k: v for k, v in call.kwargs.items() if k in wanted}
                return


def _extent(t: torch.Tensor) -> int:
    """The number of bytes from a tensor's first element to the end of its last."""
    return (1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))) * t.element_size()


# ---- errors ----------------------------------------------------------------------------------------------------------

_OWN = ("compatgrad.core", "compatgrad.exporting", "compatgrad.interop")
_INSIDE = tuple(os.path.dirname(str(m.__file__)) + os.sep for m in (compatgrad, torch))
_READS = (
    "not supported for tensor subclasses",
    "Cannot access data pointer",
    "data is not allocated yet",
    "reads values of its",
)


def raise_readable(e: Exception, who: str) -> None:
    """Raises an ExportError with the line of the code if `e` was caused by reading values, or is an ExportError."""
    place = place_of(e)
    if isinstance(e, ExportError):
        raise ExportError(f"{who}: {e}{place}") from e.__cause__
    if isinstance(e, DynamicOutputShapeException):
        raise ExportError(
            f"{who}: the shape of the result of {e.func} depends on values, but in a graph all shapes depend only on "
            f"the inputs' shapes{place}"
        ) from e
    if isinstance(e, DataDependentOutputException) or any(text in str(e) for text in _READS):
        raise ExportError(
            f"{who}: a value is read, but in a trace tensors have only shapes and dtypes{place}. Return the value "
            f"as an output, and select by values inside the graph (where) or outside the exported function{_hint(e)}"
        ) from e


def _hint(e: BaseException) -> str:
    """Further advice in the error for a value that one of compatgrad's own functions reads; empty if there is none."""
    frames = [f for f, _ in traceback.walk_tb(e.__traceback__)]
    # after `install` the modules have the originals' names
    names = [f.f_globals.get("__name__", "").removeprefix("compatgrad.") for f in frames]
    if "chainer.functions.evaluation.accuracy" in names:
        return ". Chainer's accuracy is computed in NumPy: set compute_accuracy = False of the Classifier"
    if "dropout_drawn: reads values of its" in str(e):
        return (
            ". The mask of a dropout in a graph that was built outside comes from nnabla's generator: build the graph "
            "in the function, where dropout takes its mask from torch's generator"
        )
    for frame, name in zip(frames, names, strict=True):
        if name == "chainer.function_node" and frame.f_code.co_name == "apply":
            return (
                f". The forward of {type(frame.f_locals['self']).__name__} gets NumPy arrays: write the function with "
                "chainer.functions, or as a compatgrad.FunctionNode, whose forward gets tensors"
            )
        own = frame.f_locals.get("self") if name == "nnabla.function" else None
        if (python_function := getattr(own, "own", None)) is not None:
            return (
                f". The forward_impl of {type(python_function).__name__} reads NumPy arrays: write the function with "
                "nnabla.functions"
            )
    return ""


def place_of(e: BaseException) -> str:
    """The line outside compatgrad and torch that led to an error, and its call of a frontend."""
    frames = list(traceback.walk_tb(e.__traceback__))
    own = [k for k, (f, _) in enumerate(frames) if not f.f_code.co_filename.startswith(_INSIDE)]
    after = own[-1] + 1 if own else 0  # a network of compatgrad's links alone has no line of the program
    inner = [f for f, _ in frames[after:] if f.f_code.co_filename.startswith(_INSIDE[0])]
    calls = [f for f in inner if not f.f_globals.get("__name__", "").startswith(_OWN)]
    # the function or link that the program calls, not what every call passes through (`chainer._link.__call__`)
    calls = [f for f in calls if "._" not in f.f_globals["__name__"]] or calls
    by = f", in {calls[0].f_globals['__name__']}.{calls[0].f_code.co_name}" if calls else ""
    if not own:
        return f" ({by.removeprefix(', ')})" if by else ""
    frame, line = frames[own[-1]]
    file = frame.f_code.co_filename
    text = linecache.getline(file, line).strip()
    return f" ({os.path.basename(file)}:{line}{f': `{text}`' if text else ''}{by})"


def leaves(tree: Any) -> Iterable[Any]:
    return _pytree.tree_leaves(tree)
