"""Functions of Variables that run as compiled graphs."""

from __future__ import annotations

import enum
import inspect
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import is_
from typing import Any, cast

import numpy as np
import torch
from torch import fx
from torch._functorch import config as functorch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree

from compatgrad import _C
from compatgrad.core.torch_call import call_with
from compatgrad.core.tracing import is_exporting
from compatgrad.exporting import _flat
from compatgrad.exporting import _target as targets
from compatgrad.exporting._step import StepExporter
from compatgrad.exporting._trace import ExportError
from compatgrad.exporting.module import TorchModule

__all__ = ["compile"]


def compile(
    fn: Callable[..., Any],
    *,
    example_inputs: Any = None,
    parameters: Any = None,
    frontend: str | None = None,
    dynamic: Any = True,
    check: bool = True,
    **torch_compile_options: Any,
) -> Callable[..., Any]:
    """Compiles a function: it is traced as by `export`, and the whole graph is compiled by `torch.compile`. It is
    traced at the first call, and again if the structure, dtypes, sizes that are not dynamic, fixed arguments or the
    train mode are new. The result never falls back to running `fn` itself. Like `export`, it raises an error if `fn`
    cannot be traced or compiled; and a backward pass raises an error if torch would compute other gradients than `fn`
    (after `unchain`, or in functions that define their own gradient).

    A function that runs `backward` itself, with gradients of any order inside, becomes one graph of all its passes: a
    call leaves the same gradients in parameters and inputs as `fn`. Such a graph is compiled for fixed sizes, also of
    the batch, and its results have no gradients. Call the optimizer's update after the compiled function, not in `fn`.
    Without options of `torch.compile`, such a graph of few numbers on the CPU needs no compiler: it becomes a list of
    loops of compatgrad's own.

    Args:
        fn: a Chainer link, a Gluon block, a function of Variables, or a torch module, which may contain such.
        example_inputs: if given, `fn` is traced for these at once; None waits for the first call.
        parameters, frontend, dynamic: as for `export`.
        check: True compares the results and gradients of each new graph with those of `fn`. False leaves this out: then
            no error says that a graph contains a value that `fn` has read, or that torch computes other gradients.
        **torch_compile_options: options of `torch.compile`, such as `backend` and `mode`.

    Returns:
        A function with the arguments of `fn`. For Variables or arrays it returns Variables, whose gradients reach the
        parameters of `fn` as with `fn` itself; for torch tensors it returns tensors of torch's autograd.

    Raises:
        ExportError: in a call, if `fn` cannot be written as one graph, or runs `backward` and changes gradients that
            were there before in another way than by replacing them or adding to them.
        TypeError: `fn` is not callable, an option is unknown, or the option `fullgraph` is given.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import interop
        >>> f = interop.compile(lambda x: (x * x).sum(), backend="eager")
        >>> x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
        >>> y = f(x)
        >>> y.backward()
        >>> y.item(), x.grad
        (5.0, tensor([2., 4.]))

    Source: `compatgrad/exporting/compile.py`.
    """
    compiled = _Compiled(fn, parameters, frontend, dynamic, check, torch_compile_options)
    if example_inputs is not None:
        args = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        compiled.graph_for(args, {})
    return compiled


_MANY = 8  # compiled steps before a warning
_TRIES = 4  # traces for one call, if another thread replaces parameters meanwhile


class _Tracing:
    """The thread that traces a function now. It changes parameters and gradients for some time, to see what the
    function does. Therefore it waits until calls of compiled functions in other threads have ended, and new ones wait
    for it."""

    def __init__(self) -> None:
        self.begin()
        os.register_at_fork(after_in_child=self.begin)  # a lock of a thread that the child lacks would never be free

    def begin(self) -> None:
        self.lock = threading.RLock()  # a traced function may call a compiled one
        self.thread: int | None = None
        self.calls: dict[object, int] = {}  # the calls that run now, with their threads

    def enter(self, call: object) -> None:
        """Notes a call, after other threads have traced what they want to trace."""
        own = threading.get_ident()
        self.calls[call] = own
        while self.thread not in (None, own):
            self.calls.pop(call, None)
            with self.lock:  # wait
                pass
            self.calls[call] = own

    def run(self, trace: Callable[[], Any]) -> Any:
        """Runs a trace while no other thread runs a compiled function."""
        own = threading.get_ident()
        # This thread's calls stand still: it traces in a hook or a signal's handler. Another thread that traces would
        # wait for them, and this one for the lock.
        still = [call for call, thread in list(self.calls.items()) if thread == own]
        for call in still:
            self.calls.pop(call, None)
        with self.lock:
            before = self.thread
            try:
                self.thread = own
                for call in still:
                    self.calls[call] = own
                while any(thread != own for thread in list(self.calls.values())):
                    time.sleep(0.001)
                return trace()
            finally:
                self.thread = before


_tracing = _Tracing()


class _Argument:
    """An argument that is no input, as a part of a key. It equals only itself, and it is kept, because another object
    may get the address of one that is gone. `seen`: the numbers and texts in its attributes, which may change."""

    def __init__(self, x: Any) -> None:
        self.x = x
        attributes = getattr(x, "__dict__", {})
        self.seen = [(name, type(v), repr(v)) for name, v in list(attributes.items()) if isinstance(v, _PLAIN)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Argument) and self.x is other.x and self.seen == other.seen

    def __hash__(self) -> int:
        return id(self.x)


# Types of values that are what their text says.
_PLAIN = (
    *(bool, int, float, complex, str, bytes, range, type(None), type(...)),
    *(np.generic, np.dtype, torch.dtype, torch.device, enum.Enum),
)


def _fixed(x: Any) -> Any:
    """What a graph depends on of an argument that is no input."""
    if isinstance(x, _PLAIN):
        return repr(x)
    if isinstance(x, slice):
        return _fixed(x.start), _fixed(x.stop), _fixed(x.step)
    if isinstance(x, (set, frozenset)):
        return frozenset([(type(v), _fixed(v)) for v in x])
    own: Any = type(x)
    by_value = own.__eq__ is not object.__eq__ and own.__hash__ not in (None, object.__hash__)
    if by_value and not callable(x):
        return x  # it is compared by value, and so does not change
    return _Argument(x)


class _Compiled:
    def __init__(
        self, fn: Any, parameters: Any, frontend: str | None, dynamic: Any, check: bool, options: dict[str, Any]
    ) -> None:
        if "fullgraph" in options:
            raise TypeError("interop.compile: fullgraph cannot be chosen: a part that is not compiled is an error")
        known = sorted(set(inspect.signature(torch.compile).parameters) - {"model", "fullgraph", "dynamic"})
        if unknown := sorted(set(options) - set(known)):
            raise TypeError(
                f"interop.compile: unknown option {', '.join(unknown)}: expected example_inputs, parameters, frontend, "
                f"dynamic, check, or an option of torch.compile ({', '.join(known)})"
            )
        _flat.check_options(options)
        self.fn, self.parameters, self.frontend, self.dynamic, self.options = fn, parameters, frontend, dynamic, options
        self.check = check
        self.graphs: dict[Any, _CompiledGraph | _CompiledStep] = {}
        self.recent: dict[Any, _CompiledGraph | _CompiledStep] = {}  # graphs by what `_look` returns
        # dynamic sizes and mode, by the structure of the inputs
        self.kinds: dict[Any, tuple[list[dict[int, str]], str]] = {}
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.exporter(False)  # raises errors in the arguments

    def exporter(self, train: bool, records: bool = True) -> StepExporter:
        return StepExporter("interop.compile", self.fn, self.parameters, self.frontend, train, records)

    def graph_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _CompiledGraph | _CompiledStep:
        found = self._find(args, kwargs, False)
        if found is None:
            found = _tracing.run(lambda: self._find(args, kwargs, True))
        return cast(_CompiledGraph | _CompiledStep, found)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any], traces: bool) -> Any:
        """The graph for these arguments; None if there is none and `traces` is False."""
        flat, structure = _pytree.tree_flatten((args, kwargs))
        kind = (structure, tuple([(type(x), x.ndim) if targets.is_input(x) else type(x) for x in flat]))
        if kind not in self.kinds:
            if not traces:
                return None
            self.kinds[kind] = self._kind(args, kwargs)
        places, mode = self.kinds[kind]
        given = [x for x in flat if targets.is_input(x)]
        fixed = tuple([_fixed(x) for x in flat if not targets.is_input(x)]) if len(given) < len(flat) else ()
        train = bool(self.fn.training) if mode == "module" else bool(mode) and _C.get_mode(mode)
        rest = kind, fixed, train, torch.get_num_threads()
        key = (rest, *_looks(given, places))
        found = self.graphs.get(key)
        if found is None and traces:
            exporter = self.exporter(train)
            graph = exporter.run(args, kwargs, self.dynamic, self.check)
            if exporter.leaves and any(places):
                places = [{}] * len(places)
                self.kinds[kind] = places, mode  # a step is compiled for fixed sizes
                key = (rest, *_looks(given, places))
            found = self._add(key, exporter, graph)
        if isinstance(found, _CompiledStep) and not found.records_here():
            key = (key, "unrecorded")
            found = self.graphs.get(key)
            if found is None and traces:
                exporter = self.exporter(train, False)
                found = self._add(key, exporter, exporter.run(args, kwargs, False, self.check))
        return found

    def _add(self, key: Any, exporter: StepExporter, graph: fx.GraphModule) -> _CompiledGraph | _CompiledStep:
        if exporter.leaves and len(self.graphs) == _MANY:
            warnings.warn(
                f"interop.compile: {self.__name__} runs backward, so each combination of sizes is compiled, which "
                f"takes seconds, and this is number {_MANY + 1}: pad its inputs to few sizes",
                stacklevel=7,
            )
        if (left_out := exporter.left_out()) and not isinstance(self.fn, torch.nn.Module):
            warnings.warn(
                f"interop.compile: {self.__name__} reads {left_out}, which needs a gradient and is not among the "
                "parameters: the graph keeps the values of this call, and no gradient reaches it. Pass the link, the "
                "block or a dict of Variables by parameters=",
                stacklevel=7,
            )
        for shape in [tuple(v.shape) for v in exporter.target.written][:1]:
            warnings.warn(
                f"interop.compile: {self.__name__} writes to an array of shape {shape}, such as a running mean, which "
                "is not among the parameters: the compiled function does not update it. Pass "
                "parameters=nn.get_parameters(grad_only=False)",
                stacklevel=7,
            )
        # a parameter that a graph reads is another Variable than the registered one, on the same memory
        registered = {targets.tensor_of(v).data_ptr() for v in exporter._registered()}
        unset = [v for v in exporter.target.unset if targets.tensor_of(v).data_ptr() not in registered]
        for shape in [tuple(v.shape) for v in unset][:1]:
            warnings.warn(
                f"interop.compile: {self.__name__} runs a static graph, and does not set its input of shape {shape}: "
                "the compiled function keeps the values that the input has now. Set it in the function from an "
                "argument (x.d = argument)",
                stacklevel=7,
            )
        found = (_CompiledStep if exporter.leaves else _CompiledGraph)(exporter, graph, self.options, self.check)
        self.graphs[key] = found
        return found

    def _kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[dict[int, str]], str]:
        exporter = self.exporter(False)
        exporter.take_apart(args, kwargs)
        places = exporter.dynamic_places(self.dynamic) or [{}] * len(exporter.examples)
        frontend = exporter.target.frontend
        return places, "module" if frontend is None else frontend.training_mode

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_part(args, kwargs):
            return self.fn(*args, **kwargs)
        tensors, look = (None, None) if kwargs else self._look(args)
        for _ in range(_TRIES):
            graph = self.recent.get(look)
            if graph is None:
                graph = self.graph_for(args, kwargs)
                if look is not None:
                    self.recent[look] = graph
            call = object()
            try:
                _tracing.enter(call)
                return graph.run(args, kwargs, tensors)
            except _Outdated:
                self.graphs = {key: g for key, g in self.graphs.items() if g is not graph}
                self.recent = {key: g for key, g in self.recent.items() if g is not graph}
            finally:
                _tracing.calls.pop(call, None)
        raise ExportError(f"interop.compile: the parameters of {self.__name__} change while it is compiled")

    def _is_part(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the call is in another compiled function, whose graph contains what this function does."""
        if not is_exporting() or isinstance(self.fn, torch.nn.Module):
            return False
        return not any(isinstance(x, torch.Tensor) for x in _pytree.tree_leaves((args, kwargs)))

    def _look(self, args: tuple[Any, ...]) -> tuple[list[torch.Tensor] | None, tuple[Any, ...] | None]:
        """The tensors of the arguments, and what a graph depends on, found faster than by `graph_for`; None if the
        arguments are not simple."""
        tensors = []
        modes = _C.get_mode("train"), _C.get_mode("training"), _C.get_mode("enable_backprop")
        looks: list[Any] = [modes, getattr(self.fn, "training", None), torch.get_num_threads()]
        for x in args:
            if not targets.is_input(x):
                return None, None
            t = targets.tensor_of(x)
            tensors.append(t)
            if isinstance(x, np.ndarray):  # its attributes take less time than a tensor's
                looks += (x.dtype.num, x.shape)
            else:
                looks += (type(x), t.dtype, t.shape, t.device, targets.look_of(x))
        return tensors, tuple(looks)


def _looks(given: Sequence[Any], places: Sequence[dict[int, str]]) -> list[Any]:
    """What a graph depends on of its inputs; `places`: the names of their dynamic dimensions."""
    looks = []
    for x, dims in zip(given, places, strict=True):
        sizes = list(x.shape)
        for d in dims:
            sizes[d] = -1
        t = x if isinstance(x, torch.Tensor) else targets.tensor_of(x)
        looks.append((t.dtype, t.device, *targets.look_of(x), *sizes))
    return looks


_OUTSIDE = re.compile(r"index out of bounds: (-?\d+)L? <= \w+ < (\d+)L?")  # the message of Inductor's code


def _checked(compiled: Callable[..., Any], tensors: Sequence[torch.Tensor], frontend: Any) -> Any:
    """The result of compiled code; for a label or an index out of range the error that the op raises."""
    try:
        return compiled(*tensors)
    except Exception as e:
        cause: BaseException | None = e
        outside = None
        # torch raises another error, about tracing, while it handles this one, which is then among its causes
        while cause is not None and outside is None:
            outside = _OUTSIDE.search(str(cause))
            cause = cause.__cause__ or cause.__context__
        if outside is None:
            raise
        error = RuntimeError if frontend is not None and frontend.deferred else IndexError
        low, end = outside.groups()
        text = f"interop.compile: a label or an index is out of range: expected at least {low} and less than {end}"
    raise error(text)


class _CompiledGraph(torch.nn.Module):
    """One compiled graph, with the Variables that are its parameters."""

    compiled: Callable[..., Any]

    def __init__(self, exporter: StepExporter, graph: fx.GraphModule, options: dict[str, Any], check: bool) -> None:
        super().__init__()
        self.graph = graph
        self.wraps, self.places, self.computes = exporter.target.frontend, exporter.places, exporter.target.computes
        self.legacy = list(exporter.module._legacy) if isinstance(exporter.module, TorchModule) else []
        self.wrong = "" if exporter.random or not check else _wrong_gradients(exporter, self.graph)
        self.__dict__["compiled"] = torch.compile(self.graph, fullgraph=True, **options)

    def forward(self, *tensors: torch.Tensor) -> Any:
        if any(isinstance(t, FakeTensor) for t in tensors):  # only shapes are needed
            return self.graph(*tensors)
        for t, dims in zip(tensors, self.places, strict=False):
            for d in dims:
                torch._dynamo.maybe_mark_dynamic(t, d)  # otherwise torch compiles again for a second size
        with functorch.patch(donated_buffer=False):
            result = _checked(self.compiled, tensors, self.wraps)
        nodes: set[Any] = {y.grad_fn for y in _pytree.tree_leaves(result) if isinstance(y, torch.Tensor)} - {None}
        for node in nodes:
            if self.wrong:
                node.register_prehook(self._refuse)
            elif type(node).__name__ == "CompiledFunctionBackward":
                _go_back_often(node)
        return result

    def _refuse(self, gradients: Any) -> None:
        raise ExportError(self.wrong)

    def run(self, args: Any, kwargs: Any, tensors: list[torch.Tensor] | None) -> Any:
        given = [x for x in _pytree.tree_leaves((args, kwargs)) if targets.is_input(x)]
        if all(isinstance(x, torch.Tensor) for x in given):
            return self(*given)
        frontend = self.wraps
        assert frontend is not None
        variables = [x if isinstance(x, _C.Variable) else frontend.variable(targets.tensor_of(x), False) for x in given]
        pairs = []
        for variable, place, name in self.legacy:
            parameter = place._parameters[name]
            tensor = targets.tensor_of(variable)
            if tensor.data_ptr() != parameter.data_ptr():  # the Variable was assigned another array, which is used
                parameter.data = tensor
            if parameter.requires_grad:
                pairs.append((variable, parameter))
        result = call_with(self, pairs, tuple(variables), {})
        if self.computes:  # a program that called the function reads `.d` at once
            targets.compute(_pytree.tree_leaves(result))
        return result


class _Outdated(Exception):
    """A parameter is another Variable, receives its gradient in another way, or has another dtype, shape, order in
    memory or device than when the graph was compiled."""


class _CompiledStep:
    """The graph of a function that runs backward passes: a call is one function of tensors, and assigns gradients."""

    def __init__(self, exporter: StepExporter, graph: fx.GraphModule, options: dict[str, Any], check: bool) -> None:
        module, target, frontend = exporter.module, exporter.target, exporter.target.frontend
        assert isinstance(module, TorchModule) and frontend is not None
        self.frontend = frontend
        written = dict(exporter.written)
        reads: dict[str, Callable[[], torch.Tensor]] = {}
        paths = {id(m): path for path, m in module.named_modules()}
        for variable, place, name in module._legacy:
            reads[f"{paths[id(place)]}.{name}".lstrip(".")] = partial(targets.tensor_of, variable)
        for buffer, place, name in module._legacy_buffers:
            reads[f"{paths[id(place)]}.{name}".lstrip(".")] = buffer.read
        for name, variable in written.items():
            reads[name] = partial(_written_gradient, variable)
        used = {node.target for node in graph.graph.find_nodes(op="get_attr")}
        self.reads = [read for name, read in reads.items() if name in used]
        flat, (result, _) = _flat.lifted(graph, [name for name in reads if name in used])
        self.count, self.rebuild = _flat.rebuilder(result)
        fresh = {id(v): f for (_, v), f in zip(exporter.written, target.fresh, strict=True)}
        self.written = [(variable, fresh[id(variable)]) for name, variable in written.items() if name in used]
        self.variables = [v for v in target.variables() if targets.buffer_of(v) is None]
        self.inputs = [k for k, receives in enumerate(target.receiving) if receives]
        self.ways = [exporter.ways.get(k) for k in range(len(self.variables) + len(self.inputs))]
        self.refusals: dict[int, Any] = {}  # recorded results whose gradients are errors
        self.target, self.names = target, exporter.names
        self.receivers, self.requests = target.variables(), frontend.gradient_requests(target.holder)
        self.uses = _C.uses(self.receivers)
        self.state = [read() for read in self.reads]
        self.changed = _changed(flat, len(self.state))
        examples = [t.contiguous() for t in exporter.examples]  # as `run` passes them
        self.run_flat = _flat.compiled(flat, [*examples, *self.state], options)

    def records_here(self) -> bool:
        """Whether the frontend records functions in the caller's modes, as far as the function does not choose."""
        if _C.get_mode("enable_backprop"):
            return True
        with self.frontend.modes(True):
            return not _C.get_mode("enable_backprop")

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor] | None) -> Any:
        given: Sequence[Any] = args
        if tensors is None:
            given = [x for x in _pytree.tree_leaves((args, kwargs)) if targets.is_input(x)]
            tensors = [targets.tensor_of(x) for x in given]
        for k, x in enumerate(given):
            if targets.is_recorded(x):
                raise ExportError(
                    f"interop.compile: {self.names[k]} is the result of a recorded computation, to whose inputs "
                    "backward passes of a compiled function do not go on: compute it inside the function"
                )
        receivers, requests = self.target.variables(), self.frontend.gradient_requests(self.target.holder)
        if requests != self.requests or len(receivers) != len(self.receivers):
            raise _Outdated
        if not all(map(is_, receivers, self.receivers)) or _C.uses(receivers) != self.uses:
            raise _Outdated
        state = [read() for read in self.reads]
        if not all(map(is_, state, self.state)):
            if [_layout(t) for t in state] != [_layout(t) for t in self.state]:
                raise _Outdated
            self.state = state
        if self.changed and (k := _C.sharing(tensors, [state[k] for k in self.changed])) >= 0:
            raise ExportError(
                f"interop.compile: {self.names[k]} shares its memory with a gradient or an array of the network that "
                "the function writes to: pass a copy"
            )
        found = _checked(self.run_flat, [*[t.contiguous() for t in tensors], *state], self.frontend)
        gradients = iter(found[self.count :])
        for v, way in zip(chain(self.variables, [given[k] for k in self.inputs]), self.ways, strict=True):
            if way is not None:
                targets.receive(v, way, None if way == "clear" else next(gradients))
        for v, fresh in self.written:
            _C.fresh(v, fresh)
        if all(isinstance(x, torch.Tensor) for x in given):
            return self.rebuild(found[: self.count])
        return self.rebuild([self._constant(k, t) for k, t in enumerate(found[: self.count])])

    def _constant(self, k: int, t: torch.Tensor) -> Any:
        """A Variable that cannot be differentiated; a pass that tries to would otherwise end without an effect."""
        y = self.frontend.variable(t, False)
        if self.frontend.deferred:
            return y
        if k not in self.refusals:
            own, refused = self.frontend.variable_class._frontend, cast(Any, _Refusal).apply
            with self.frontend.modes(True):
                refusal = _C.torch_call(own, lambda: refused(_ANY, t), (), None, None, None)
            self.refusals[k] = refusal
        _C.share_place(y, self.refusals[k])
        return y


_ANY = torch.zeros((), requires_grad=True)


class _Refusal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return t.view_as(t)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise ExportError(
            "interop.compile: the result of a compiled function that runs backward itself has no gradient: compile a "
            "function that does not run backward, or use the gradients that it leaves"
        )


def _changed(flat: fx.GraphModule, count: int) -> list[int]:
    """The numbers of those among the last `count` inputs of a graph that the graph writes to."""
    nodes = flat.graph.find_nodes(op="placeholder")
    own = {node: k for k, node in enumerate(nodes[len(nodes) - count :])}
    found: set[int] = set()
    for node in flat.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "_schema", None) and node.target._schema.is_mutable:
            x = node.args[0]
            while isinstance(x, fx.Node) and x not in own and x.args:  # from a view to what it is a view of
                x = x.args[0]
            found.update({own[x]} if x in own else ())
    return sorted(found)


def _layout(t: torch.Tensor) -> tuple[Any, ...]:
    return t.dtype, t.shape, t.stride(), t.device


def _written_gradient(variable: Any) -> torch.Tensor:
    tensor: torch.Tensor = targets.buffer_of(variable).tensor
    return tensor


def _go_back_often(node: Any) -> None:
    """Makes torch keep the graph of a compiled function for several backward passes, which needs a global option."""
    patches = []

    def before(gradients: Any) -> None:
        patches.append(functorch.patch(donated_buffer=False))
        patches[-1].__enter__()

    def after(inputs: Any, outputs: Any) -> None:
        patches.pop().__exit__(None, None, None)

    node.register_prehook(before)
    node.register_hook(after)


def _wrong_gradients(exporter: StepExporter, graph: Any) -> str:
    """The error text for a backward pass whose gradients would differ from those of the function; empty if they do
    not."""
    names = exporter.wrong_gradients(graph)
    if not names:
        return ""
    return (
        f"interop.compile: the gradient of {', '.join(names)} is not that of the function's calls: it unchains "
        "Variables, stops gradients or uses functions that define their own gradient. Compile a function that returns "
        "the gradients"
    )
