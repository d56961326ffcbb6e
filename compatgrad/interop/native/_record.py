"""Records a network as ATen calls, in which functions of the engine that a layer of torch computes are one call each.

The recording is that of `interop.export`. While the network runs, the engine names every function (`_C.set_tally`), and
the recorder replaces the ATen calls of a function by one `LayerCall` where `_layers.layer_of` knows how to write it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree
from torch.utils._python_dispatch import _disable_current_modes

from compatgrad import _C
from compatgrad.core.configuration import using_modes
from compatgrad.exporting._graph import Assembly
from compatgrad.exporting._run import Exporter
from compatgrad.exporting._target import Target
from compatgrad.exporting._trace import Call, ExportError, Trace, Value, place_of
from compatgrad.interop.native._gathered import Numbers
from compatgrad.interop.native._kept import Again
from compatgrad.interop.native._layers import Layer, Seen, layer_of
from compatgrad.interop.native._recurrent import cell_of, watching
from compatgrad.interop.native._straight import straight_of, vectors_fixed

__all__ = ["LayerCall", "Recorder"]


class LayerCall:
    """The target of a graph's node that stands for a layer; its arguments are a `Layer` and the list of inputs."""

    __name__ = "layer"
    __module__ = __name__
    tags = ()
    _schema = SimpleNamespace(is_mutable=False, arguments=[])

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError("a layer of a recording is written as source, not run")

    def __repr__(self) -> str:
        return "layer"


LAYER = LayerCall()


class _Trace(Trace):
    """A trace that recognizes layers."""

    def __init__(self, state: Any, train: bool | None) -> None:
        super().__init__(state)
        self._train = train
        self._view: Any = None  # the function that runs, or ran last
        self._start = 0  # number of calls before it
        self._nodes: dict[int, tuple[Any, Value]] = {}  # variable nodes of known Values
        self._stopped: dict[int, Any] = {}  # variable nodes at which a gradient ends
        self.trained: set[str] = set()  # parameters that functions read, with a gradient
        self.fixed: set[str] = set()  # and without one
        self._writes: set[int] = set()  # calls that belong to a layer although they write to the state
        self.numbers = Numbers(state)
        self.stops = False  # whether gradients end where the network's do
        self.whole = True  # whether recurrent layers, which consist of many functions, are recorded as such

    def run(self, network: Callable[..., Any], *args: Any) -> None:
        def listen(kind: str, name: str, frontend: str, view: Any) -> None:
            if kind == "run":
                self._finish()
                self._view = view
                _C.set_tally(listen)  # the engine names each kind of function once; this starts it anew

        def whole(*args: Any) -> Any:
            result = network(*args)
            self._finish()
            return result

        _C.set_tally(listen)
        try:
            super().run(whole, *args)
        finally:
            _C.set_tally(None)
            self._view = None
            self._nodes.clear()
            self._stopped.clear()
        self.calls = [c for c in self.calls if id(c) not in self._writes]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._finish()
        return super().__torch_dispatch__(func, types, args, kwargs)

    @staticmethod
    def _tensor_of(node: Any) -> torch.Tensor | None:
        variable = node.get_variable_or_none()
        if variable is None and node.creator_node is None and node.tensor is None:
            variable = node.get_variable()  # a leaf of nnabla's graph, whose array the node keeps
        found: torch.Tensor | None = node.tensor if variable is None else variable.tensor
        return found

    def _of_node(self, node: Any) -> Value | None:
        """The Value of a variable node."""
        if node is None:
            return None
        if id(node) in self._nodes:
            return self._nodes[id(node)][1]
        t = self._tensor_of(node)
        if t is None or (isinstance(t, FakeTensor) and id(t) not in self._values):
            return None
        value = self.value(t)
        self._nodes[id(node)] = (node, value)
        return value

    def new_call(
        self, layer: Layer, inputs: list[Value], outputs: Sequence[torch.Tensor | None], start: int
    ) -> tuple[list[Value], Call]:
        """A call of a layer, with its results. outputs: tensors that calls from number `start` on have computed, which
        become its results; None for a result that is no tensor."""
        replaced = {id(c) for c in self.calls[start:]}
        call = Call(LAYER, (layer, inputs), {}, several=True)
        for k, t in enumerate(outputs):
            if t is None:
                call.results.append(Value("result", call, torch.empty(0), k))
                continue
            y = self.value(t)
            if y.kind == "result" and id(y.source) in replaced:
                y.source, y.index = call, k
                call.results.append(y)
        return call.results, call

    def new_tensor(self, like: torch.Tensor) -> torch.Tensor:
        """A tensor without values."""
        with self._shapes:
            return torch.empty(like.shape, dtype=like.dtype)

    def add_call(self, layer: Layer, inputs: list[Value], outputs: Sequence[torch.Tensor]) -> None:
        """Adds a call of a layer whose results are new tensors."""
        call = Call(LAYER, (layer, inputs), {}, several=bool(layer.results))
        call.results = [self._known(Value("result", call, t, k if call.several else None))
                        for k, t in enumerate(outputs)]  # fmt: skip
        self.calls.append(call)
        self._start = len(self.calls)

    def drop_calls(self, start: int) -> None:
        """Removes the calls from number `start` on, and forgets the function that runs."""
        del self.calls[start:]
        self._view, self._start = None, start

    def _stop(self, nodes: Any, start: int) -> None:
        """Notes where a gradient ends: at inputs of a function that were computed, but have no function before them.
        start: the number of the function's first call."""
        given = [self._of_node(node) for node in nodes]
        copies = [c for c in self.calls if c.op is torch.ops.aten.copy_.default and c.args[0].kind == "state"]
        for copied in copies:  # the result of a function is copied into a parameter, which the next function reads
            into, value = copied.args[:2]
            if not any(v is value for v in given):
                continue
            for call in self.calls[start:]:
                if call is not copied:
                    flat, structure = _pytree.tree_flatten((call.args, call.kwargs))
                    flat = [value if v is into else v for v in flat]
                    call.args, call.kwargs = _pytree.tree_unflatten(flat, structure)
        for k, (node, value) in enumerate(zip(nodes, given, strict=True)):
            if node is None or node.creator_node is not None or id(node) in self._stopped:
                continue
            if value is None or value.kind != "result":
                continue
            self._stopped[id(node)] = node
            calls = self.calls[start:]
            del self.calls[start:]
            self._detach(node, value)
            made = self._nodes[id(node)][1]
            others = [v is value for j, v in enumerate(given) if j != k]
            for call in calls:
                taken = [v for v in _pytree.tree_leaves((call.args, call.kwargs)) if isinstance(v, Value)]
                if any(others) and (len(calls) > 1 or len(taken) != len(given)):
                    continue  # the function gets the same values with and without a gradient
                flat, structure = _pytree.tree_flatten((call.args, call.kwargs))
                place = -1
                for j, v in enumerate(flat):
                    place += isinstance(v, Value)
                    if v is value and (not any(others) or place == k):
                        flat[j] = made
                call.args, call.kwargs = _pytree.tree_unflatten(flat, structure)
            self.calls += calls

    def _detach(self, node: Any, value: Value) -> None:
        """Adds a call of `detach`, whose result later calls read in place of a variable node's tensor."""
        self._replace(node, value, torch.ops.aten.detach.default, (value,))

    def _replace(self, node: Any, value: Value, op: Any, args: tuple[Any, ...]) -> None:
        """Adds a call, whose result later calls read in place of a variable node's tensor. value: of this tensor."""
        t = self._tensor_of(node)
        if t is None or id(t) not in self._values:
            return
        with _disable_current_modes():
            fake = self.new_tensor(value.fake)
        call = Call(op, args, {})
        made = Value("result", call, fake)
        call.results.append(made)
        self.calls.append(call)
        self._start = len(self.calls)
        self._values[id(t)] = made
        self._nodes[id(node)] = (node, made)

    def _straight(self, node: Any, seen: Seen, layer: Layer, own: int | None, through: int) -> None:
        """Adds a call of a layer that has a function's value and another gradient. node: the result's variable node."""
        y = seen.outputs[0]
        if own is None:
            by = y.source
            value = Value("result", by, y.fake, y.index)
            by.results = [value if v is y else v for v in by.results]
            call = Call(LAYER, (layer, [value, seen.inputs[through]]), {})
            y.source, y.index = call, None
            call.results.append(y)
            self.calls.append(call)
            self._start = len(self.calls)
        else:
            self._replace(node, seen.inputs[own], LAYER, (layer, [seen.inputs[own], seen.inputs[through]]))

    def _finish(self) -> None:
        """Notes a layer, if the function that ran last has finished and is one."""
        view = self._view
        if view is None or view.inputs is None or any(o is None for o in view.outputs or (None,)):
            return
        self._view, start = None, self._start
        self._start = len(self.calls)
        outputs = [self._of_node(o()) for o in view.outputs]
        if view.op_name is None or any(y is None or y.kind != "result" for y in outputs[:1]):
            return
        if self.stops and view.op_name == "stop_gradient" and outputs[0] is not None:
            self._detach(view.outputs[0](), outputs[0])
            return
        if self.stops:
            before = len(self.calls)
            self._stop(view.inputs, start)
            if view.op_name == "spectral_norm":
                self.calls[start:] = vectors_fixed(self.calls[start:], self.new_tensor)
            start += len(self.calls) - before  # the calls of detach
            self._start = len(self.calls)
        inputs = [self._of_node(x) for x in view.inputs]
        for node, value in zip(view.inputs, inputs, strict=True):
            if value is not None and value.kind == "state":
                (self.trained if node.requires_grad else self.fixed).add(value.source)
        params = {k: self.value(v) if isinstance(v, torch.Tensor) else v for k, v in (view.op_params or {}).items()}
        seen = Seen(view.op_name, params, inputs, [y for y in outputs if y is not None], self._train,
                    self.calls[start:], self.calls)  # fmt: skip
        straight = straight_of(seen, self.stops)
        through = None if straight is None else inputs[straight[2]]
        if straight is not None and through is not None and through.fake.is_floating_point():
            self._straight(view.outputs[0](), seen, *straight)
            return
        with _disable_current_modes():  # it compares values of constants
            layer = layer_of(seen)
            cell = cell_of(seen, self.numbers) if layer is None and self.whole else None
        if cell is not None:
            layer, inputs = cell
        if layer is None:
            return
        several = len(outputs) > 1 or bool(layer.results)
        call = Call(LAYER, (layer, [inputs[i] for i in layer.inputs]), {}, several=several)
        for k, y in enumerate(outputs):
            if y is None or y.kind != "result":
                continue
            by = y.source
            by.results = [Value("result", by, v.fake, v.index) if v is y else v for v in by.results]
            y.source, y.index = call, k if call.several else None
            call.results.append(y)
        held = {id(v) for v in (*inputs, *params.values()) if isinstance(v, Value) and v.kind == "state"}
        for v in inputs:  # a parameter that is overwritten with a constant
            if v is not None and v.kind == "result" and str(v.source.op) == "aten.fill_.Scalar":
                held |= {id(w) for w in v.source.written()}
        self._writes |= {id(c) for c in self.calls[start:] if any(id(v) in held for v in c.written())}
        if layer.spare:  # a parameter that is not used, because the network overwrites it with a constant
            fills = [c for c in self.calls if str(c.op) == "aten.fill_.Scalar"]
            self._writes |= {id(c) for c in fills if id(c.args[0]) in held}
        self.calls.append(call)
        self._start = len(self.calls)


class _Target(Target):
    """A target whose functions are recorded by the engine in every frontend. `finished` is called after each run."""

    finished: Callable[[], None] = staticmethod(lambda: None)

    def run(self, tensors: Sequence[torch.Tensor], needs: Sequence[bool], rebuild: Callable[..., Any]) -> Any:
        target = self.target

        def recorded(*args: Any, **kwargs: Any) -> Any:
            with using_modes(recording=True):
                result = target(*args, **kwargs)
                self.finished()  # while the result's Variables are alive
                return result

        if not self.is_module:
            self.target = recorded
        try:
            return super().run(tensors, needs, rebuild)
        finally:
            self.target = target


class _Assembly(Assembly):
    """The graph keeps the shapes of its values in `meta["runs"]`."""

    def assemble(self) -> None:
        self._compare()
        for calls in zip(*(t.calls for t in self.traces), strict=True):
            self._one(calls)
        outputs = self.argument([t.outputs for t in self.traces], "the output", [])
        self.graph.output(fx.map_arg(outputs, self._output))


class Recorder(Exporter):
    """One recording. `assembly`: the graph in `assembly.graph`, and its constants. whole: whether recurrent layers are
    recorded as layers. keeper: which parts stay calls of compatgrad, or None."""

    def __init__(
        self, target: Any, parameters: Any, frontend: str | None, train: bool, whole: bool = True, keeper: Any = None
    ) -> None:
        super().__init__("interop.to_native", target, parameters, frontend, train)
        self.target.at_once = True  # functions are recorded as they run
        self.target.__class__ = _Target
        self.whole, self.keeper, self.stops = whole, keeper, False

    def record(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any) -> None:
        self.take_apart(args, kwargs)
        self.needs = [x.is_floating_point() for x in self.examples]  # so that the engine records every function
        if dynamic is True:  # inputs with another first size than the first input's have no batch
            first = next((x.shape[0] for x in self.examples if x.dim()), None)
            dynamic = [{0: "batch"} if x.dim() and x.shape[0] == first else None for x in self.examples]
        self.places = self.dynamic_places(dynamic)
        self.module = self._stateful()
        self.state = state = dict(self.module.state_dict(keep_vars=True))
        floats = {t.dtype for t in state.values() if t.is_floating_point()}
        if floats == {torch.float32}:  # the network would convert float64 itself, or refuse it
            self.examples = [x.float() if x.dtype == torch.float64 else x for x in self.examples]
        self.result = self._first_call(state)
        self.assembly = self._assembled(state)
        self.random = any(c.is_random() for c in self.assembly.traces[0].calls)

    assembly_of = _Assembly

    def _new_trace(self, state: Mapping[str, torch.Tensor]) -> Trace:
        modes = self.target.is_module or bool(self.target.frontend and self.target.frontend.training_mode)
        trace = _Trace(state, self.target.train if modes or self.target.train else None)
        trace.whole, trace.stops = self.whole, self.stops
        return trace

    @contextlib.contextmanager
    def _tracing(self, trace: Trace) -> Iterator[None]:
        self.target.finished = trace._finish  # type: ignore[attr-defined]
        tracing = contextlib.nullcontext() if self.target.frontend is None else self.target.frontend.tracing()
        try:
            with super()._tracing(trace), tracing, self._watching(trace), self._kept(trace):
                yield
        finally:
            self.target.finished = lambda: None  # type: ignore[attr-defined]

    def _kept(self, trace: Any) -> contextlib.AbstractContextManager[None]:
        if self.keeper is None or self.target.frontend is None:
            return contextlib.nullcontext()
        watching: contextlib.AbstractContextManager[None] = self.keeper.watching(
            trace, self.target, self.target.frontend, self.target.train
        )
        return watching

    def _first_call(self, state: Mapping[str, torch.Tensor]) -> Any:
        with self._kept(None):
            return super()._first_call(state)

    def _assemble(self, state: Mapping[str, torch.Tensor], runs: Sequence[int]) -> Assembly:
        while True:
            try:
                return super()._assemble(state, runs)
            except Again:
                with self.target.unchanged(state):
                    self.keeper.again(self.target, self.target.train)

    def _watching(self, trace: Any) -> contextlib.AbstractContextManager[None]:
        if not self.whole or self.target.frontend is None:
            return contextlib.nullcontext()
        return watching(trace, trace.numbers, self.target.frontend.name)

    def _refusal(self, error: Exception, sizes: dict[str, int]) -> ExportError | None:
        if "TracedArray" in str(error):  # the code gives an array without values to a function that checks types
            return ExportError(f"{self.who}: a value is read, but a trace has only shapes{place_of(error)}")
        if not sizes:
            return None
        return ExportError(f"{self.who}: the network fails at another size: {error}{place_of(error)}")


def layers(graph: fx.Graph) -> Iterator[Layer]:
    """The layers of a graph."""
    for node in graph.nodes:
        if node.target is LAYER:
            yield node.args[0]
