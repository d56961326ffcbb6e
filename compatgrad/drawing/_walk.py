"""The contents of a graph: variables and functions, inputs first, and the tensors that are kept for a backward pass."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from compatgrad import _C, core
from compatgrad.core.function import FunctionAdapter
from compatgrad.drawing import _torch_record

# Below this number of elements an op is tried on zeros, above it on the meta device, which is fast for large shapes but
# takes seconds at its first use.
_SMALL = 1 << 21

# the attributes of the engine's class, because frontends' classes override these names
_inputs = vars(_C.FunctionNode)["inputs"].__get__
_op_params = vars(_C.FunctionNode)["op_params"].__get__
_op_stored = vars(_C.FunctionNode)["op_stored"].__get__
_outputs = vars(_C.FunctionNode)["outputs"].__get__
_creator = vars(_C.VariableNode)["creator_node"].__get__


def inputs_of(f: Any) -> tuple[Any, ...]:
    """The input nodes of a function; none if they were released."""
    return _inputs(f) or ()


def source_of(f: Any) -> Any:
    """The Variable of another frontend's graph whose value a function has (core/bridge.py), or None."""
    source = getattr(_C.function_host(f), "source", None)
    return source if isinstance(source, _C.Variable) else None


def before(f: Any) -> tuple[Any, ...]:
    """The nodes that a picture shows as a function's inputs."""
    # The Variable comes first, because a node's Python object is made for the first frontend that asks for it.
    source = source_of(f)
    return inputs_of(f) if source is None else (source.node,)


def outputs_of(f: Any) -> list[Any]:
    """The output nodes, None for deleted ones."""
    return [ref() for ref in _outputs(f) or ()]


def creator_of(v: Any) -> Any:
    """The function that computed a node, or None."""
    return _creator(v)


def in_order(roots: Iterable[Any]) -> list[Any]:
    """All variable and function nodes that the roots depend on, each after its dependencies."""
    order: list[Any] = []
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        if isinstance(node, _C.FunctionNode):
            stack += [(x, False) for x in reversed(before(node))]
        elif (f := creator_of(node)) is not None:
            stack.append((f, False))
    return order


def frontends(order: Sequence[Any], first: str) -> dict[Any, str]:
    """The name of each function's frontend: `first`, the frontend of the roots, up to functions that represent a
    Variable of another graph."""
    names: dict[Any, str] = {}
    for node in reversed(order):
        name = names.setdefault(node, first)
        if isinstance(node, _C.FunctionNode):
            source = source_of(node)
            for x in before(node):
                names.setdefault(x, name if source is None else source._frontend.name)
        elif (f := creator_of(node)) is not None:
            names.setdefault(f, name)
    return names


@dataclass
class Kept:
    """A tensor that a function's backward reads."""

    what: str  # "input 0", "output", or the name of a parameter
    shape: tuple[int, ...]
    nbytes: int
    node: Any  # the variable's node; None for other tensors
    place: Any  # equal for tensors that share memory
    part: Any  # the part of that memory
    limit: int  # the size of that memory in bytes
    leaf: bool
    there: bool = True  # False: a static graph has not computed it yet, or has freed it


def _kept(what: str, t: torch.Tensor, node: Any = None, leaf: bool = False) -> Kept:
    nbytes = t.numel() * t.element_size()
    try:
        storage = t.untyped_storage()
        place, limit = (t.device, storage.data_ptr()), storage.nbytes()
    except (RuntimeError, NotImplementedError):  # a layout without a single storage
        place, limit = (t.device, id(t)), nbytes
    if t.is_meta or nbytes and not limit:  # in a static graph: not computed
        return Kept(what, tuple(t.shape), nbytes, node, object(), 0, nbytes, leaf, False)
    return Kept(what, tuple(t.shape), nbytes, node, place, (t.storage_offset() if limit else 0, nbytes), limit, leaf)


def total(kept: Iterable[Kept]) -> int:
    """The total number of bytes; memory that several tensors share counts once."""
    parts: dict[Any, dict[Any, int]] = {}
    limits: dict[Any, int] = {}
    for k in kept:
        parts.setdefault(k.place, {})[k.part] = k.nbytes
        limits[k.place] = k.limit
    return sum(min(sum(sizes.values()), limits[place]) for place, sizes in parts.items())


def is_deferred(f: Any) -> bool:
    """Whether a function belongs to a static graph (nnabla's), whose values are in separate arrays."""
    try:
        _C.function_rank(f)
    except TypeError:
        return False
    return True


def kept_by(f: Any, tried: Trial) -> list[Kept]:
    """The tensors kept for the backward of `f`: the inputs and outputs that it reads, and the tensors that it
    stores."""
    if _inputs(f) is None:
        return []
    if is_deferred(f):
        found = _kept_deferred(f)
    elif not f.is_native:
        found = _kept_python(f)
    else:
        found = _kept_native(f, tried)
    if (record := _torch_record.record_of(f)) is not None:
        found = _with_record(found, record, inputs_of(f))
    else:
        found += [_kept(name, value) for name, value in _inside(f)]
    # x * x keeps x once
    return list({(k.place, k.part, k.shape): k for k in reversed(found)}.values())[::-1]


def _inside(f: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a function stores in addition to its inputs and outputs."""
    held: Mapping[str, Any]
    if (host := _C.function_host(f)) is not None:
        held = host.kept() if hasattr(host, "kept") else {}
    elif f.is_native:
        held = _op_stored(f)
    else:
        held = {**vars(f), **(vars(f.function) if isinstance(f, FunctionAdapter) else {})}
    for name, value in held.items():
        for t in value if isinstance(value, tuple) else (value,):  # an index may contain several
            if isinstance(t, np.ndarray) and t.dtype.kind in "biuf":
                t = torch.as_tensor(t)
            if isinstance(t, torch.Tensor):
                yield name, t


def _with_record(found: list[Kept], record: _torch_record.Record, inputs: tuple[Any, ...]) -> list[Kept]:
    """`found` for a torch function, together with the tensors that torch keeps; parameters only if torch keeps them."""
    held = {k.place: k for k in (_kept(name, t) for name, t in record.tensors())}
    parameters = {node for node, _, _ in record.parameters(inputs)}
    found = [k for k in found if k.node not in parameters or k.place in held]
    known = {k.place for k in found}
    return found + [k for place, k in held.items() if place not in known]


def _word(word: str, i: int, n: int) -> str:
    return word if n == 1 else f"{word} {i}"


def _kept_deferred(f: Any) -> list[Kept]:
    if not _C.function_need_grad(f):
        return []
    xs = _C.function_inputs(f)
    needs = [x.need_grad if isinstance(x, _C.DeferredVariable) else x.requires_grad for x in xs]
    # the additional flags are for optional inputs that were left out
    reads, writes = _C.function_saves(f, needs + [False] * 32)
    found = [_kept_array(_word("input", i, len(xs)), x, inputs_of(f)[i]) for i, x in enumerate(xs) if reads[i]]
    if any(writes):
        ys = _C.function_outputs(f)
        nodes = outputs_of(f)
        found += [_kept_array(_word("output", j, len(ys)), y, nodes[j]) for j, y in enumerate(ys) if writes[j]]
    return found


def _kept_array(what: str, x: Any, node: Any) -> Kept:
    leaf = creator_of(node) is None
    if not isinstance(x, _C.DeferredVariable):  # a Variable of another frontend
        return _kept(what, x.tensor, node, leaf)
    array = x.data
    if not array._lazy:
        return _kept(what, array.read(), node, leaf)
    nbytes = array.size * array._dtype.itemsize
    return Kept(what, tuple(x.shape), nbytes, node, array, 0, nbytes, leaf, False)


def _kept_python(f: Any) -> list[Kept]:
    found = []
    for word, variables, nodes in (
        ("input", _C.FunctionNode.get_retained_inputs(f), inputs_of(f)),
        ("output", _C.FunctionNode.get_retained_outputs(f), outputs_of(f)),
    ):
        for v in variables:
            if v is None or v.tensor is None:
                continue
            node = v.node
            i = next((k for k, n in enumerate(nodes) if n is node), 0)
            found.append(_kept(_word(word, i, len(nodes)), v.tensor, node, creator_of(node) is None))
    return found


def _kept_native(f: Any, tried: Trial) -> list[Kept]:
    xs, ys = inputs_of(f), outputs_of(f)
    held = [x.tensor for x in xs], [None if y is None else y.tensor for y in ys]
    if not any(x.requires_grad for x in xs) or all(t is None for ts in held for t in ts):
        return []
    reads, writes = tried.reads(f, xs, ys)
    found = [
        _kept(_word("input", i, len(xs)), t, xs[i], creator_of(xs[i]) is None)
        for i, t in enumerate(held[0])
        if t is not None and reads[i]
    ]
    return found + [
        _kept(_word("output", j, len(ys)), t, ys[j]) for j, t in enumerate(held[1]) if t is not None and writes[j]
    ]


class Trial:
    """Finds which inputs and outputs an op's backward reads.

    A node says that its data is retained, but not for which function. So the op is recorded again, alone, on zeros of
    the same shapes.
    """

    def __init__(self) -> None:
        self._known: dict[Any, tuple[list[bool], list[bool]]] = {}

    def reads(self, f: Any, xs: Sequence[Any], ys: Sequence[Any]) -> tuple[list[bool], list[bool]]:
        """Flags for inputs and outputs. If the trial fails, all inputs are flagged."""
        guess = [True] * len(xs), [False] * len(ys)
        if f.op_name is None:
            return guess
        params = _op_params(f)
        # A frontend that records constants also saves data for gradients of constants.
        always = bool(getattr(getattr(f, "_frontend", None), "record_constants", False))
        tensors = [(x.shape, _dtype(x), always or x.requires_grad) for x in xs]
        elements = sum(_count(n.shape) for n in (*xs, *ys) if n is not None)
        key = f.op_name, repr({k: _kind(v) for k, v in params.items()}), tuple(tensors), len(ys)
        if key not in self._known:
            try:
                flags = _recorded(f.op_name, params, tensors, "cpu" if elements < _SMALL else "meta")
            except Exception:  # an op may fail on zeros, or on the meta device, with any error
                flags = guess
            self._known[key] = flags if len(flags[1]) == len(ys) else guess
        return self._known[key]


def _recorded(name: str, params: dict[str, Any], tensors: Sequence[Any], device: str) -> tuple[list[bool], list[bool]]:
    xs = [
        core.Variable(torch.zeros(shape, dtype=dtype, device=device), requires_grad=needs)
        for shape, dtype, needs in tensors
    ]
    # copies, because an op may write into its tensors (running statistics)
    params = {k: v.to(device, copy=True) if isinstance(v, torch.Tensor) else v for k, v in params.items()}
    op = _C.op(name)
    ys = op(xs, **params) if _C.op_info(name)["inputs"] < 0 else op(*xs, **params)
    ys = ys if isinstance(ys, (tuple, list)) else (ys,)
    return [x.node.tensor is not None for x in xs], [y.node.tensor is not None for y in ys]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A context for trials: no hook sees them, and they use up no random numbers."""
    hooks = _C.function_hooks()
    active = dict(hooks)
    modes = {name: _C.get_mode_raw(name) for name in ("debug", "deferred")}
    hooks.clear()
    for name in modes:
        _C.set_mode(name, False)
    try:
        with core.force_backprop_mode(), torch.random.fork_rng(devices=[]):
            yield
    finally:
        for name, value in modes.items():
            _C.set_mode(name, value)
        hooks.update(active)


def _count(shape: Any) -> int:
    n = 1
    for length in shape or ():
        n *= length
    return n


def _dtype(node: Any) -> torch.dtype:
    dtype = node.dtype if node.tensor is None else node.tensor.dtype
    known: torch.dtype = dtype if isinstance(dtype, torch.dtype) else getattr(torch, str(dtype))
    return known


def _kind(value: Any) -> Any:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else value
