"""Graphs as functions of a list of tensors, for calls that record nothing: the state is among the inputs, small
products are loops, and intermediate arrays are allocated once."""

from __future__ import annotations

import ast
import difflib
import inspect
import itertools
import math
import textwrap
import threading
import types
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, cast

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree

from compatgrad.exporting._lower import note_shapes, tape_of

__all__ = ["compiled", "lifted", "rebuilder", "unroll_small_products"]

aten = torch.ops.aten
# Products with at most so many multiplications become loops, which Inductor fuses with the functions around them; a
# library's function takes a microsecond before it begins to multiply.
_SMALL = 1 << 15
_KEPT = 1 << 16  # bytes, up to which an intermediate array is kept from call to call


def lifted(gm: fx.GraphModule, state: Sequence[str]) -> tuple[fx.GraphModule, Any]:
    """A pair of a graph and the structure of its result. The inputs of the graph are those of `gm` and then the tensors
    that `gm` reads by the names in `state`; it returns the tensors in the result of `gm` as a list. The structure is
    the result of `gm`, with nodes in place of its tensors."""
    graph, known = fx.Graph(), {}
    for node in gm.graph.find_nodes(op="placeholder"):
        known[node] = graph.placeholder(node.name)
    inputs = {name: graph.placeholder(f"state_{k}") for k, name in enumerate(state)}
    for node in gm.graph.nodes:
        if node.op == "get_attr" and node.target in inputs:
            known[node] = inputs[node.target]
        elif node.op == "output":
            result = node.args[0]
        elif node not in known:
            known[node] = graph.node_copy(node, known.__getitem__)
    graph.output([known[y] for y in _pytree.tree_leaves(result) if isinstance(y, fx.Node)])
    return fx.GraphModule(gm, graph), result


def rebuilder(result: Any) -> tuple[int, Callable[[Sequence[Any]], Any]]:
    """The number of tensors in a structure that `lifted` returns, and a function that puts as many values in their
    places."""
    flat, structure = _pytree.tree_flatten(result)
    places = [k for k, y in enumerate(flat) if isinstance(y, fx.Node)]
    if isinstance(result, fx.Node):
        return 1, itemgetter(0)

    def rebuild(values: Sequence[Any]) -> Any:
        leaves = list(flat)
        for k, y in zip(places, values, strict=True):
            leaves[k] = y
        return _pytree.tree_unflatten(leaves, structure)

    return len(places), rebuild


def unroll_small_products(gm: fx.GraphModule, examples: Sequence[torch.Tensor]) -> None:
    """Writes small products of matrices as sums of products of numbers."""
    note_shapes(gm, examples)
    graph = gm.graph
    for node in list(graph.nodes):
        if node.target is aten.addmm.default and not node.kwargs:
            added, (a, b) = node.args[0], node.args[1:]
        elif node.target in (aten.mm.default, aten.bmm.default, aten.matmul.default):
            added, (a, b) = None, node.args
        else:
            continue
        x, y = a.meta["val"], b.meta["val"]
        if x.dim() < 2 or y.dim() < 2 or math.prod(x.shape) * y.shape[-1] > _SMALL or x.device.type != "cpu":
            continue
        if not x.dtype.is_floating_point or x.dtype.itemsize < 4:
            continue
        with graph.inserting_before(node):
            left = graph.call_function(aten.unsqueeze.default, (a, -1))
            right = graph.call_function(aten.unsqueeze.default, (b, -3))
            new = graph.call_function(aten.sum.dim_IntList, (graph.call_function(aten.mul.Tensor, (left, right)), [-2]))
            if added is not None:
                new = graph.call_function(aten.add.Tensor, (new, added))
        node.replace_all_uses_with(new)
        graph.erase_node(node)
    gm.recompile()


def check_options(options: dict[str, Any]) -> None:
    """Raises ValueError for a mode or an option that Inductor does not know: torch itself finds it in a call."""
    if options.get("backend", "inductor") != "inductor" or not (options.get("mode") or options.get("options")):
        return
    from torch._inductor import config, list_mode_options

    modes = sorted(list_mode_options())
    if (mode := options.get("mode")) and mode not in modes:
        raise ValueError(f"interop.compile: mode: expected one of {', '.join(modes)}, got {mode!r}")
    known = config.get_config_copy()
    for name in options.get("options") or {}:
        if name.replace("-", "_") not in known:
            near = difflib.get_close_matches(name, known, 3)
            like = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ValueError(f"interop.compile: options: torch._inductor.config has no {name!r}{like}")


def compiled(gm: fx.GraphModule, examples: Sequence[torch.Tensor], options: dict[str, Any]) -> Callable[..., Any]:
    """The graph compiled for inputs like the examples, with the options of `torch.compile`."""
    if not options and (tape := tape_of(gm, examples)) is not None:
        return tape
    if options.get("backend", "inductor") != "inductor":
        return torch.compile(gm, fullgraph=True, **options)
    from torch._inductor import list_mode_options
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def with_kept_memory(*args: Any, **kwargs: Any) -> Any:
        result: Any = compile_fx_inner(*args, **kwargs)
        call = getattr(result, "current_callable", None)
        if isinstance(call, types.MethodType) and "empty_strided_cpu" in call.__func__.__globals__:
            result.current_callable = _KeptMemory(call)
        return result

    unknown = set(options) - {"backend", "mode", "options", "dynamic"}
    if unknown:
        raise TypeError(f"interop.compile: {min(unknown)} is not an option of torch.compile")
    patches = {"cpp.enable_floating_point_contract_flag": "fast"}  # a product and a sum round once
    patches.update(list_mode_options(options["mode"]) if options.get("mode") else {})
    patches.update(options.get("options") or {})
    unroll_small_products(gm, examples)
    with torch.no_grad():
        found: Any = compile_fx(gm, list(examples), with_kept_memory, patches)
    return cast(Callable[..., Any], found)


class _KeptMemory:
    """A function that Inductor has generated, whose intermediate arrays are allocated once and used in all calls.

    The function allocates arrays in a fixed order. Arrays that are its results are new in each call, and so are large
    ones, whose allocation takes little time beside the arithmetic. The assertions about the layouts of inputs are left
    out, because the caller has compared the layouts.
    """

    def __init__(self, call: types.MethodType) -> None:
        self._original = call
        self._lock = threading.Lock()
        self._call: Callable[[list[Any]], Any] | None = None

    def __call__(self, inputs: list[Any]) -> Any:
        if not self._lock.acquire(blocking=False):  # another thread, or a signal's handler, is in the function
            return self._original(inputs)
        try:
            return self._first(inputs) if self._call is None else self._call(inputs)
        finally:
            self._lock.release()

    def _first(self, inputs: list[Any]) -> Any:
        function = cast(types.FunctionType, self._original.__func__)
        names = dict(function.__globals__)
        allocate = names["empty_strided_cpu"]
        made: list[tuple[StorageWeakRef, tuple[Any, ...]]] = []

        def noted(*arguments: Any) -> torch.Tensor:
            array: torch.Tensor = allocate(*arguments)
            made.append((StorageWeakRef(array.untyped_storage()), arguments))
            return array

        names["empty_strided_cpu"] = noted
        results = types.FunctionType(function.__code__, names)(self._original.__self__, inputs)
        self.kept = {}
        for k, (memory, (size, stride, dtype)) in enumerate(made):
            if memory.expired() and math.prod(size) * dtype.itemsize <= _KEPT:
                self.kept[f"_kept_{k}"] = allocate(size, stride, dtype)
        names.update(self.kept, empty_strided_cpu=allocate)
        try:
            self._call = types.MethodType(_with_arrays(function, names), self._original.__self__)
        except OSError:  # the file with the generated code was deleted
            self._call = self._original
        return results


def _with_arrays(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    """A generated function with the arrays `_kept_0`, ... among `names` in place of its allocations, in their order,
    and without assertions."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    numbers = itertools.count()

    class Change(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if isinstance(node.func, ast.Name) and node.func.id == "empty_strided_cpu":
                name = f"_kept_{next(numbers)}"
                return ast.copy_location(ast.Name(name, ast.Load()), node) if name in names else node
            return self.generic_visit(node)

        def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
            call = node.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "assert_size_stride":
                return None
            return self.generic_visit(node)

    changed = ast.increment_lineno(ast.fix_missing_locations(Change().visit(tree)), first - 1)
    exec(compile(changed, function.__code__.co_filename, "exec"), names)  # the function is torch's own code
    made: types.FunctionType = names[definition.name]
    return made
