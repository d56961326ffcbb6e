"""An export from its arguments to the graph: runs, the graph's state, the comparison with the original."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import keyword
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import fx
from torch.utils import _pytree

from compatgrad.core.tracing import exporting, is_exporting
from compatgrad.exporting import _target as targets
from compatgrad.exporting._graph import Assembly, Unfitted
from compatgrad.exporting._noise import Noise, doubled, noisy, wide
from compatgrad.exporting._target import Target
from compatgrad.exporting._trace import ExportError, Trace, place_of, raise_readable
from compatgrad.exporting.module import _submodule

__all__ = ["Exporter"]

# Sizes in the runs: primes distinguish a size from products of others; the last ones distinguish quotients from similar
# ones
_RUNS = (5, 7, 11)
_MORE_RUNS = (*_RUNS, 6, 8, 9, 10, 12, 13)
_PRIMES = (17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113)
_TAKEN = {*keyword.kwlist, *dir(builtins), "self"}
_CLOSER = 0.2  # part of the tolerance; differences above it are compared with rounding errors
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}


# Words in the texts of errors that a Variable causes where an array is expected; "O" is NumPy's dtype of objects.
_WANTS_ARRAYS = ("Variable", "NDArray", "object_", "dtype object", "O != ")


class Exporter:
    """One export. `module`: a torch module with the target's state; `random`: whether the graph draws random
    numbers."""

    def __init__(self, who: str, target: Any, parameters: Any, frontend: str | None, train: bool) -> None:
        self.who = who
        self.target = Target(who, target, parameters, frontend, train)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any, check: bool) -> fx.GraphModule:
        with exporting():
            gm: fx.GraphModule = targets.whole(lambda: self._run(args, kwargs, dynamic, check))
            return gm

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any, check: bool) -> fx.GraphModule:
        self.take_apart(args, kwargs)
        self.places = self.dynamic_places(dynamic)
        self.module = self._stateful()
        self.state = state = dict(self.module.state_dict(keep_vars=True))
        self._first_call(state)
        assembly = self._assembled(state)
        self.fixed = assembly.traces[0].fixed_places()
        gm = self._graph_module(assembly)
        self.random = any(c.is_random() for c in assembly.traces[0].calls)
        if check and not self.random:
            own = {f"array {k}": t for k, t in enumerate(assembly.traces[0].written_arrays())}
            self._check(gm, state, state | own | {name: gm.get_buffer(name) for name in assembly.constants})
        return gm

    _no_inputs = "example_inputs: expected tensors, arrays or Variables, found none"

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        flat, structure = _pytree.tree_flatten((args, kwargs))
        at = [k for k, x in enumerate(flat) if targets.is_input(x)]
        if not at:
            raise TypeError(f"{self.who}: {self._no_inputs}")
        self.target.choose_frontend(flat)
        self.examples = [targets.tensor_of(flat[k]) for k in at]
        self.needs = [targets.needs_gradient(flat[k]) for k in at]
        self.marked = [targets.is_marked(flat[k]) for k in at]
        self.target.receiving = [targets.is_receiver(flat[k]) for k in at]
        paths = [path for path, _ in _pytree.tree_flatten_with_path((args, kwargs))[0]]
        self.names = _names([paths[k] for k in at], self.target.target)
        self._arrays = [name for name, k in zip(self.names, at, strict=True) if isinstance(flat[k], np.ndarray)]

        def rebuild(values: Sequence[Any]) -> Any:
            new = list(flat)
            for k, v in zip(at, values, strict=True):
                new[k] = v
            return _pytree.tree_unflatten(new, structure)

        self.rebuild = rebuild

    def dynamic_places(self, dynamic: Any) -> list[dict[int, str]]:
        """For each input the names of its dynamic dimensions; an empty list if no input has any."""
        if dynamic is None or dynamic is False:
            return []
        if dynamic is True:
            given: list[Any] = [{0: "batch"} if x.dim() else None for x in self.examples]
        elif isinstance(dynamic, dict):
            if unknown := [k for k in dynamic if k not in self.names]:
                raise ValueError(f"{self.who}: dynamic: expected names of {self.names}, got {unknown[0]!r}")
            given = [dynamic.get(name) for name in self.names]
        elif not isinstance(dynamic, (list, tuple)):
            raise TypeError(
                f"{self.who}: dynamic: expected True, False, a dict or a list of dicts from dimensions to names, got "
                f"{dynamic!r}"
            )
        else:
            given = list(dynamic)
            if len(given) != len(self.examples):
                raise ValueError(f"{self.who}: dynamic: expected {len(self.examples)} entries, got {len(given)}")
        result: list[dict[int, str]] = []
        sizes: dict[str, tuple[int, str]] = {}
        for name, x, dims in zip(self.names, self.examples, given, strict=True):
            result.append({})
            if dims is not None and not isinstance(dims, dict):
                raise TypeError(
                    f"{self.who}: dynamic: input {name}: expected a dict from dimensions to names, such as "
                    f'{{0: "batch"}}, or None, got {dims!r}'
                )
            for d, symbol in (dims or {}).items():
                if not isinstance(d, int) or not -x.dim() <= d < x.dim():
                    raise ValueError(f"{self.who}: dynamic: input {name} has {x.dim()} dimensions, got dimension {d!r}")
                symbol = str(getattr(symbol, "__name__", symbol))
                size, other = sizes.setdefault(symbol, (x.shape[d], name))
                if size != x.shape[d]:
                    raise ValueError(
                        f"{self.who}: dynamic: '{symbol}' is {size} in example input {other} and {x.shape[d]} in "
                        f"{name}; give different names to different sizes, as in "
                        'dynamic=[{0: "batch"}, {0: "other"}], or fix all by dynamic=False'
                    )
                result[-1][d % x.dim()] = symbol
        return result if sizes else []

    # ---- runs --------------------------------------------------------------------------------------------------------

    def _call(self) -> Any:
        return self.target.run([x.clone() for x in self.examples], self.needs, self.rebuild)

    def _stateful(self) -> torch.nn.Module:
        """A module with the target's state."""
        try:
            return self.target.module()
        except (ValueError, RuntimeError):  # the shapes of parameters are still unknown
            train, self.target.train = self.target.train, False
            try:
                self._call()
            finally:
                self.target.train = train
            return self.target.module()

    def _first_call(self, state: Mapping[str, torch.Tensor]) -> Any:
        """The result of a call after which the states exist that the code makes when it is first called."""
        try:
            with self.target.unchanged(state), targets.Undo():
                unset = self.target.inputs_of_graphs()
                others = self.target.other_statistics(state)
                result = self._call()
                self.target.written = [v for v, t in others if not torch.equal(targets.tensor_of(v), t)]
                self.target.unset = [v for v, look in unset if targets.array_state(v) == look]
                self.target.note_gradients()  # before Undo clears gradients that were written to arrays
                return result
        except Exception as e:
            raise_readable(e, self.who)
            if self._arrays and any(text in str(e) for text in _WANTS_ARRAYS):
                raise ExportError(
                    f"{self.who}: the function gets Variables in place of arrays ({', '.join(self._arrays)}), and a "
                    f"call that needs an array fails{place_of(e)}: {type(e).__name__}: {e}. Do not make "
                    "Variables of the arguments, or use chainer.as_variable, which accepts arrays and Variables; and "
                    "use the frontend's functions in place of NumPy's"
                ) from e
            raise

    def _assembled(self, state: Mapping[str, torch.Tensor]) -> Assembly:
        with self.target.unchanged(state):
            try:
                return self._assemble(state, _RUNS)
            except Unfitted:
                return self._assemble(state, _MORE_RUNS)

    # What one run is: `interop.to_native` records layers by other traces.
    assembly_of: type[Assembly] = Assembly

    def _new_trace(self, state: Mapping[str, torch.Tensor]) -> Trace:
        return Trace(state)

    def _tracing(self, trace: Trace) -> contextlib.AbstractContextManager[Any]:
        return self.target.unchanged({})  # a trace must not change values

    def _refusal(self, error: Exception, sizes: dict[str, int]) -> ExportError | None:
        """What a failed run raises in place of its error, if anything; `sizes`: those of the dynamic dimensions."""
        if not sizes:
            return None
        at = ", ".join(f"{name} {size}" for name, size in sizes.items())
        frontend = self.target.frontend
        static = "A static graph keeps the sizes for which it was built. " if frontend and frontend.deferred else ""
        return ExportError(
            f"{self.who}: the network runs on the examples, but not at {at}{place_of(error)}: "
            f"{type(error).__name__}: {error}. {static}With dynamic=False it is exported only for the examples' sizes"
        )

    def _assemble(self, state: Mapping[str, torch.Tensor], runs: Sequence[int]) -> Assembly:
        names = list(dict.fromkeys(s for dims in self.places for s in dims.values()))
        count = len(runs) + max(len(names) - 1, 0) if names else 2
        sizes = {}
        for k, name in enumerate(names):
            more = [*runs, *_PRIMES] if k == 0 else _PRIMES[3 * k :]
            sizes[name] = [more[r] for r in range(count)]
        traces: list[Trace] = []
        draws = False
        for r in range(count):
            trace = self._new_trace(state)
            fakes = []
            for k, x in enumerate(self.examples):
                dims = self.places[k] if self.places else {}
                fakes.append(trace.new_input([sizes[dims[d]][r] if d in dims else n for d, n in enumerate(x.shape)], x))
            if r == count - 1 and any(c.is_random() for t in traces for c in t.calls):
                _shift(state)  # `_check` cannot compare random results, and numbers that the code reads would be fixed
            drawn = _generators()
            try:
                with self._tracing(trace):
                    trace.run(lambda fakes=fakes: self.target.run(fakes, self.needs, self.rebuild))
            except Exception as e:
                raise_readable(e, self.who)
                if refusal := self._refusal(e, {name: sizes[name][r] for name in names}):
                    raise refusal from e
                raise
            draws |= _generators() != drawn
            trace.without_writes()
            trace.drop_dead()
            traces.append(trace)
        where = {
            s: next((k, d) for k, dims in enumerate(self.places) for d, n in dims.items() if n == s) for s in names
        }
        assembly = self.assembly_of(traces, self.names, sizes, where)
        drawn_outside = ExportError(
            f"{self.who}: the code draws random numbers of NumPy's or of Python's generator, which a graph would not "
            "draw again: draw them outside and pass them as inputs"
        )
        try:
            assembly.assemble()
        except Unfitted as e:
            if draws:
                raise drawn_outside from e
            if names and runs is _RUNS:
                raise
            raise ExportError(f"{self.who}: {e}") from None
        except ExportError as e:
            raise ExportError(f"{self.who}: {e}") from e.__cause__
        if draws:  # and chooses by them what it calls
            raise drawn_outside
        return assembly

    # ---- the result --------------------------------------------------------------------------------------------------

    def _graph_module(self, assembly: Assembly) -> fx.GraphModule:
        root = torch.nn.Module()
        for name, p in self.module.named_parameters(remove_duplicate=False):
            owner, _, own = name.rpartition(".")
            _submodule(root, owner).register_parameter(own, p)
        for name, t in self.module.named_buffers(remove_duplicate=False):
            owner, _, own = name.rpartition(".")
            _submodule(root, owner).register_buffer(own, t)
        for name, t in assembly.constants.items():
            root.register_buffer(name, t, persistent=False)
        graph = assembly.graph
        graph.eliminate_dead_code()
        graph.lint()
        kind = type(self.target.target).__name__
        gm = fx.GraphModule(root, graph, class_name=kind if kind.isidentifier() and kind != "function" else "Exported")
        for name, child in root._modules.items():  # including parameters and buffers that the graph does not read
            gm._modules[name] = child
        gm._parameters.update(root._parameters)
        gm._buffers.update(root._buffers)
        gm._non_persistent_buffers_set.update(root._non_persistent_buffers_set)
        gm.train(self.target.train)
        return gm

    def _check(
        self, gm: fx.GraphModule, state: Mapping[str, torch.Tensor], changing: Mapping[str, torch.Tensor]
    ) -> None:
        """Compares the graph with the target, with other parameter values than in the trace."""

        def results(call: Callable[[], Any], shift: Callable[..., None]) -> list[tuple[str, Any]]:
            with self.target.unchanged(changing):
                shift(state)
                return _named_results(call(), state)

        def graph() -> Any:
            with torch.no_grad():
                return gm(*(x.clone() for x in self.examples))

        expected, found = results(self._call, _shift), results(graph, _shift)
        whole = max((_scale(a) for _, a in expected), default=0.0)
        if all(close(a, b, whole, _CLOSER) for (_, a), (_, b) in zip(expected, found, strict=True)):
            return

        # The larger the change of the parameters, the larger is the difference if the graph contains a value as a fixed
        # number; rounding errors stay the same.
        shift, far = _shift_far, results(self._call, _shift_far)
        if all(bool(t.isfinite().all()) for _, t in far):
            expected, found = far, results(graph, _shift_far)
            whole = max((_scale(a) for _, a in expected), default=0.0)
        else:
            shift = _shift

        def exact() -> list[tuple[str, Any]]:
            with self.target.unchanged(changing), torch.no_grad():
                shift(state)
                twin = doubled(gm)
                outputs = twin(*(wide(x.clone()) for x in self.examples))
                own = dict((*twin.named_parameters(), *twin.named_buffers()))
                return _named_results(outputs, {name: own.get(name, t) for name, t in state.items()})

        def again(generator: torch.Generator) -> list[tuple[str, Any]]:
            def run() -> Any:
                with torch.no_grad():
                    return noisy(gm, generator)(*(x.clone() for x in self.examples))

            return results(run, shift)

        pairs = list(zip(expected, found, strict=True))
        doubtful = [k for k, ((_, a), (_, b)) in enumerate(pairs) if not close(a, b, whole)]
        if not doubtful:
            return
        noise = Noise(exact, found, again)
        wrong = next((k for k in doubtful if not noise.explains(k, expected[k][1])), None)
        if wrong is None:
            return
        (name, a), (_, b) = pairs[wrong]
        raise ExportError(
            f"{self.who}: {name} of the graph differs from the network's by {_difference(a, b)}, tested with other "
            "parameters than in the trace, and by more than rounding errors: the network reads values of its "
            "parameters or of other arrays while it runs, keeps a state between calls, or behaves differently at the "
            "examples' sizes. check=False leaves out the comparison; interop.export(..., check=False).print_readable() "
            "shows the graph, in which such a value is a number or a _constant"
        )

    def wrong_gradients(self, gm: fx.GraphModule) -> list[str]:
        """The parameters and inputs whose gradients differ between the graph and the target."""
        with exporting():
            found: list[str] = targets.whole(lambda: self._wrong_gradients(gm))
        return found

    def _wrong_gradients(self, gm: fx.GraphModule) -> list[str]:
        inputs = {name: x.clone() for name, x in zip(self.names, self.examples, strict=True)}
        for x in inputs.values():
            x.requires_grad_(x.is_floating_point())
        args, kwargs = self.rebuild(list(inputs.values()))
        with self.target.unchanged(self.state):
            gys, found = _gradients(gm, lambda: gm(*inputs.values()), inputs, None)
        own = self.target.differentiable(self.module)
        with self.target.unchanged(self.state), targets.mode_of(own, self.target.train):
            _, expected = _gradients(own, lambda: own(*args, **kwargs), inputs, gys)
        whole = max((_scale(g) for g in expected.values()), default=0.0)
        pairs = {name: (expected[name], g.to(expected[name].dtype)) for name, g in found.items()}
        wrong = [name for name, (a, b) in pairs.items() if not close(a, b, whole)]
        if not wrong:
            return []

        def exact() -> list[tuple[str, Any]]:
            twin, wider = doubled(gm), {name: wide(x.detach()) for name, x in inputs.items()}
            for name, x in inputs.items():
                wider[name].requires_grad_(x.requires_grad)
            with self.target.unchanged(self.state):
                return list(_gradients(twin, lambda: twin(*wider.values()), wider, [wide(g) for g in gys])[1].items())

        def again(generator: torch.Generator) -> list[tuple[str, Any]]:
            run = noisy(gm, generator)
            with self.target.unchanged(self.state):
                return list(_gradients(gm, lambda: run(*inputs.values()), inputs, gys)[1].items())

        noise = Noise(exact, list(found.items()), again)
        return [name for k, name in enumerate(found) if name in wrong and not noise.explains(k, expected[name])]


def _named_results(outputs: Any, state: Mapping[str, torch.Tensor]) -> list[tuple[str, Any]]:
    """Copies of the outputs of a call and of the values of the state after it, with their names."""
    pairs = [(f"output {k}", y) for k, y in enumerate(_pytree.tree_leaves(outputs))] + list(state.items())
    return [(name, t.detach().clone()) for name, t in pairs if isinstance(t, torch.Tensor)]


class _Quiet(logging.Filter):
    """Keeps torch from printing an error of a call with tensors without values; the export raises the error, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not is_exporting()


logging.getLogger("torch._subclasses.fake_tensor").addFilter(_Quiet())  # a switch would also silence other threads


def _shift(state: Mapping[str, torch.Tensor]) -> None:
    """Changes the values of the state a little."""
    with torch.no_grad():
        for t in state.values():
            if t.is_floating_point():
                t.mul_(1.015625).add_(0.001)


def _shift_far(state: Mapping[str, torch.Tensor]) -> None:
    """Changes the values of the state by a quarter."""
    with torch.no_grad():
        for t in state.values():
            if t.is_floating_point():
                t.mul_(1.25).add_(0.001)


def _generators() -> tuple[Any, ...]:
    """The states of NumPy's and of Python's generator of random numbers."""
    name, key, *rest = cast(tuple[Any, ...], np.random.get_state())
    return name, key.tobytes(), *rest, random.getstate()


def _gradients(
    module: torch.nn.Module, call: Callable[[], Any], inputs: Mapping[str, torch.Tensor], gys: Any
) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    """Gradients of a call's outputs, weighted by gys (random if None), with respect to the module's parameters and the
    inputs."""
    with torch.enable_grad():
        ys = [y for y in _pytree.tree_leaves(call()) if isinstance(y, torch.Tensor) and y.is_floating_point()]
        gys = [torch.randn_like(y) for y in ys] if gys is None else gys
        named = {name: t for name, t in (*module.named_parameters(), *inputs.items()) if t.requires_grad}
        weighted = [(y * g).sum() for y, g in zip(ys, gys, strict=True) if y.requires_grad]
        found: Sequence[Any] = [None] * len(named)
        if weighted:
            found = torch.autograd.grad(weighted, list(named.values()), allow_unused=True)
    pairs = zip(named.items(), found, strict=True)
    return gys, {name: torch.zeros_like(t) if g is None else g for (name, t), g in pairs}


def _scale(a: torch.Tensor) -> float:
    """The largest absolute value."""
    finite = a[a.isfinite()].abs()
    return float(finite.max()) if finite.numel() else 0.0


def close(a: torch.Tensor, b: torch.Tensor, whole: float, factor: float = 1.0) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return torch.equal(a, b)
    tolerance = factor * _TOLERANCE.get(a.dtype, 1e-4)
    near = tolerance * (_scale(a) + 0.1 * whole)  # sums with cancellation contain the rounding errors of larger numbers
    return torch.allclose(a, b, rtol=tolerance, atol=near, equal_nan=True)


def _difference(a: torch.Tensor, b: torch.Tensor) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"shape or dtype: {tuple(b.shape)} {b.dtype} for {tuple(a.shape)} {a.dtype}"
    return f"{float((a.double() - b.double()).abs().max()):.3g}"


def _names(paths: Sequence[Any], target: Any) -> list[str]:
    """Names of the graph's inputs: the names of the function's arguments, with the path inside them."""
    target = getattr(target, "_target", target)  # the target of a TorchModule
    function = target.forward if hasattr(target, "forward") else target
    try:
        arguments = [p for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        arguments = []
    positional = [p.name for p in arguments if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names: list[str] = []
    for path in paths:
        which, first, *inner = [getattr(p, "idx", getattr(p, "key", p)) for p in path]
        if which == 0:
            first = positional[first] if first < len(positional) else f"input_{first}"
        name = "_".join(str(part) for part in (first, *inner))
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        while name in names or name in _TAKEN:
            name += "_"
        names.append(name)
    return names
