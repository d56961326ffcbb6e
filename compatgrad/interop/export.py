"""The way out: networks of the frontends as `torch.fx` graphs of ATen calls."""

from __future__ import annotations

import builtins
import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree

from compatgrad.interop import _export_target as targets
from compatgrad.interop._export_graph import Assembly, Unfitted
from compatgrad.interop._export_target import Target
from compatgrad.interop._export_trace import ExportError, Trace, place_of
from compatgrad.interop._module import _submodule

__all__ = ["ExportError", "export"]

# Sizes of the runs: primes tell a size from products of others, the last ones quotients from their neighbours
_RUNS = (5, 7, 11)
_MORE_RUNS = (*_RUNS, 6, 8, 9, 10, 12, 13)
_PRIMES = (17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113)
_TAKEN = {*keyword.kwlist, *dir(builtins), "self"}
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}


def export(
    target: Callable[..., Any],
    example_inputs: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    parameters: Any = None,
    frontend: str | None = None,
    dynamic: Any = True,
    train: bool = False,
    check: bool = True,
) -> fx.GraphModule:
    """A network as a `torch.fx.GraphModule` of ATen calls, for `torch.export`, `torch.compile` and other tools.

    target: a Chainer link, a Gluon block, a function of Variables, or a torch module, which may hold such.
    example_inputs: a tuple or list of what it is called with, or one input alone: torch tensors, arrays or Variables,
    also inside tuples, lists and dicts. Each becomes an input of the graph; arguments of other kinds are fixed.
    kwargs: arguments by name.
    parameters: of a function, the Variables that it uses, by name, or the link or block that has them; that of a bound
    method is found. frontend: of a function, whose Variables it takes, as for `as_torch_module`.
    dynamic: True, the first dimension of every input is the batch, of any size; False or None, all sizes are fixed; or
    for each input a dict from dimensions to names, or None, where sizes of one name are equal.
    train: layers train; running statistics are written to buffers.
    check: run the result on the examples, and compare it with the target's.

    The graph's parameters and buffers are the target's, on the same memory, under the names that `as_torch_module`
    gives them. The target is as it was afterwards. ExportError, which names the call and the place, where values are
    read, where the calls differ by the size, where a number follows from the sizes in no known way, or where the result
    is not the target's. TypeError and ValueError for wrong arguments.
    """
    return _Export("interop.export", target, parameters, frontend, train).run(
        example_inputs, dict(kwargs or {}), dynamic, check
    )


class _Export:
    def __init__(self, who: str, target: Any, parameters: Any, frontend: str | None, train: bool) -> None:
        self.who = who
        self.target = Target(who, target, parameters, frontend, train)

    def run(self, example_inputs: Any, kwargs: dict[str, Any], dynamic: Any, check: bool) -> fx.GraphModule:
        if not isinstance(example_inputs, (tuple, list)):
            example_inputs = (example_inputs,)
        self._take_apart(tuple(example_inputs), kwargs)
        self.places = self._dynamic(dynamic)
        expected, module = self._original()
        state = dict(module.state_dict(keep_vars=True))
        with self.target.unchanged(state):
            try:
                assembly = self._assemble(state, _RUNS)
            except Unfitted:
                if not self.places:
                    raise
                assembly = self._assemble(state, _MORE_RUNS)
        gm = self._module(assembly, module)
        if check and not any(c.is_random() for c in assembly.traces[0].calls):
            self._check(gm, expected, state)
        return gm

    # ---- inputs ------------------------------------------------------------------------------------------------------

    def _take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        flat, structure = _pytree.tree_flatten((args, kwargs))
        at = [k for k, x in enumerate(flat) if targets.is_input(x)]
        if not at:
            raise TypeError(f"{self.who}: example_inputs: expected tensors, arrays or Variables, found none")
        self.target.choose_frontend(flat)
        self.examples = [targets.tensor_of(flat[k]) for k in at]
        self.needs = [targets.needs_gradient(flat[k]) for k in at]
        paths = [path for path, _ in _pytree.tree_flatten_with_path((args, kwargs))[0]]
        self.names = _names([paths[k] for k in at], self.target.target)

        def rebuild(values: Sequence[Any]) -> Any:
            new = list(flat)
            for k, v in zip(at, values, strict=True):
                new[k] = v
            return _pytree.tree_unflatten(new, structure)

        self.rebuild = rebuild

    def _dynamic(self, dynamic: Any) -> list[dict[int, str]]:
        """For each input the names of its dynamic dimensions; empty where none has any."""
        if dynamic is None or dynamic is False:
            return []
        if dynamic is True:
            given: list[Any] = [{0: "batch"} if x.dim() else None for x in self.examples]
        elif isinstance(dynamic, dict):
            if unknown := [k for k in dynamic if k not in self.names]:
                raise ValueError(f"{self.who}: dynamic: expected names of {self.names}, got {unknown[0]!r}")
            given = [dynamic.get(name) for name in self.names]
        else:
            given = list(dynamic)
            if len(given) != len(self.examples):
                raise ValueError(f"{self.who}: dynamic: expected {len(self.examples)} entries, got {len(given)}")
        result: list[dict[int, str]] = []
        sizes: dict[str, tuple[int, str]] = {}
        for name, x, dims in zip(self.names, self.examples, given, strict=True):
            result.append({})
            for d, symbol in (dims or {}).items():
                if not isinstance(d, int) or not -x.dim() <= d < x.dim():
                    raise ValueError(f"{self.who}: dynamic: input {name} has {x.dim()} dimensions, got dimension {d!r}")
                symbol = str(getattr(symbol, "__name__", symbol))
                size, other = sizes.setdefault(symbol, (x.shape[d], name))
                if size != x.shape[d]:
                    raise ValueError(
                        f"{self.who}: dynamic: '{symbol}' is {size} in example input {other} and {x.shape[d]} in "
                        f"{name}; give sizes that differ different names"
                    )
                result[-1][d % x.dim()] = symbol
        return result if sizes else []

    # ---- runs --------------------------------------------------------------------------------------------------------

    def _original(self) -> tuple[Any, torch.nn.Module]:
        """What the target gives for the examples, and a module with its state, which may get its shapes here."""

        def call() -> Any:
            return self.target.run([x.clone() for x in self.examples], self.needs, self.rebuild)

        try:
            module = self.target.module()
        except (ValueError, RuntimeError):  # a parameter has no value yet
            self._plain(call)
            module = self.target.module()
        state = dict(module.state_dict(keep_vars=True))
        with self.target.unchanged(state):
            y = call()
            y = _pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), y)
            after = {name: t.detach().clone() for name, t in state.items()}
        return (y, after), module

    def _plain(self, call: Callable[[], Any]) -> None:
        train, self.target.train = self.target.train, False
        try:
            call()
        finally:
            self.target.train = train

    def _assemble(self, state: Mapping[str, torch.Tensor], runs: Sequence[int]) -> Assembly:
        names = list(dict.fromkeys(s for dims in self.places for s in dims.values()))
        count = len(runs) + max(len(names) - 1, 0) if names else 2
        sizes = {}
        for k, name in enumerate(names):
            more = [*runs, *_PRIMES] if k == 0 else _PRIMES[3 * k :]
            sizes[name] = [more[r] for r in range(count)]
        traces = []
        for r in range(count):
            trace = Trace(state)
            fakes = []
            for k, x in enumerate(self.examples):
                dims = self.places[k] if self.places else {}
                fakes.append(trace.new_input([sizes[dims[d]][r] if d in dims else n for d, n in enumerate(x.shape)], x))
            try:
                trace.run(lambda fakes=fakes: self.target.run(fakes, self.needs, self.rebuild))
            except ExportError as e:
                raise ExportError(f"{self.who}: {e}") from e.__cause__
            except Exception as e:
                if not names:
                    raise
                at = ", ".join(f"{name} {sizes[name][r]}" for name in names)
                raise ExportError(
                    f"{self.who}: the network runs on the examples, but not at {at}{place_of(e)}: "
                    f"{type(e).__name__}: {e}. With dynamic=False it is exported for the examples' sizes alone"
                ) from e
            trace.drop_dead()
            traces.append(trace)
        where = {
            s: next((k, d) for k, dims in enumerate(self.places) for d, n in dims.items() if n == s) for s in names
        }
        assembly = Assembly(traces, self.names, sizes, where)
        try:
            assembly.assemble()
        except ExportError as e:
            raise type(e)(f"{self.who}: {e}") from e.__cause__
        return assembly

    # ---- the result --------------------------------------------------------------------------------------------------

    def _module(self, assembly: Assembly, module: torch.nn.Module) -> fx.GraphModule:
        root = torch.nn.Module()
        for name, p in module.named_parameters(remove_duplicate=False):
            owner, _, own = name.rpartition(".")
            _submodule(root, owner).register_parameter(own, p)
        for name, t in module.named_buffers(remove_duplicate=False):
            owner, _, own = name.rpartition(".")
            _submodule(root, owner).register_buffer(own, t)
        for name, t in assembly.constants.items():
            root.register_buffer(name, t, persistent=False)
        graph = assembly.graph
        graph.eliminate_dead_code()
        graph.lint()
        kind = type(self.target.target).__name__
        gm = fx.GraphModule(root, graph, class_name=kind if kind.isidentifier() and kind != "function" else "Exported")
        for name, child in root._modules.items():  # with what the graph does not read
            gm._modules[name] = child
        gm._parameters.update(root._parameters)
        gm._buffers.update(root._buffers)
        gm._non_persistent_buffers_set.update(root._non_persistent_buffers_set)
        gm.train(self.target.train)
        return gm

    def _check(self, gm: fx.GraphModule, expected: Any, state: Mapping[str, torch.Tensor]) -> None:
        with self.target.unchanged(state), torch.no_grad():
            found = gm(*(x.clone() for x in self.examples))
            after = {name: t.detach().clone() for name, t in state.items()}
        outputs, changed = expected
        pairs = list(zip(_pytree.tree_leaves(outputs), _pytree.tree_leaves(found), strict=True))
        named = [(f"output {k}", a, b) for k, (a, b) in enumerate(pairs)]
        named += [(name, changed[name], after[name]) for name in state]
        whole = max((_scale(a) for _, a, _ in named if isinstance(a, torch.Tensor)), default=0.0)
        for what, a, b in named:
            if isinstance(a, torch.Tensor) and not _close(a, b, whole):
                raise ExportError(
                    f"{self.who}: {what} of the graph differs from the network's by {_difference(a, b)}: the network "
                    "reads values where the graph has what they were, or keeps a state of its own from call to call"
                )


def _scale(a: torch.Tensor) -> float:
    """The largest number."""
    finite = a[a.isfinite()].abs()
    return float(finite.max()) if finite.numel() else 0.0


def _close(a: torch.Tensor, b: torch.Tensor, whole: float) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return torch.equal(a, b)
    tolerance = _TOLERANCE.get(a.dtype, 1e-4)
    near = tolerance * (_scale(a) + 0.01 * whole)  # sums that cancel leave what larger numbers were rounded by
    return torch.allclose(a, b, rtol=tolerance, atol=near, equal_nan=True)


def _difference(a: torch.Tensor, b: torch.Tensor) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"shape or dtype: {tuple(b.shape)} {b.dtype} for {tuple(a.shape)} {a.dtype}"
    return f"{float((a.double() - b.double()).abs().max()):.3g}"


def _names(paths: Sequence[Any], target: Any) -> list[str]:
    """Names of the graph's inputs: those of the function's arguments, with the way inside them."""
    target = getattr(target, "_target", target)  # of a TorchModule
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
