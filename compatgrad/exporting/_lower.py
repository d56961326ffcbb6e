"""Writes graphs of ATen calls as tapes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import getitem
from typing import Any, cast

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from compatgrad.exporting import _folds
from compatgrad.exporting._rules import RULES
from compatgrad.exporting._tape import DIMS, DOT, MAP, PRODUCT, Array, Call, Place, Step, Tape

__all__ = ["note_shapes", "tape_of"]

aten = torch.ops.aten
_LARGEST = 1 << 16  # bytes of an array; loops over larger ones are limited by memory, and a compiler joins them
_CALLS = 0.02  # the most calls of torch, as a share of the steps, and so a few microseconds in some hundred steps


def note_shapes(gm: fx.GraphModule, examples: Sequence[torch.Tensor]) -> None:
    """Puts each node's result without values into its `meta["val"]`."""
    FakeTensorProp(gm, FakeTensorMode(allow_non_fake_inputs=True)).propagate(*examples)


class _Unsuited(Exception):
    """The graph is not for a tape."""


def tape_of(gm: fx.GraphModule, examples: Sequence[torch.Tensor]) -> Callable[..., Any] | None:
    """The graph as a function of inputs like the examples; None if torch's compiler does better: if the graph is on a
    GPU, has large arrays or many functions for which there are no loops, or reads arrays after writing to them."""
    if any(t.device.type != "cpu" or t.layout != torch.strided for t in examples):
        return None
    try:
        tape = _Lowering(gm, examples).tape()
    except _Unsuited:
        return None
    calls = sum(isinstance(s, Call) for s in tape.steps)
    return None if calls > max(_CALLS * len(tape.steps), 1) else tape.function()


class _Lowering:
    def __init__(self, gm: fx.GraphModule, examples: Sequence[torch.Tensor]) -> None:
        self.gm = gm
        note_shapes(gm, examples)
        values = [t for node in gm.graph.nodes if isinstance(t := node.meta.get("val"), torch.Tensor)]
        dtypes = Counter(t.dtype for t in values if t.is_floating_point())
        self.dtype = max(dtypes, key=lambda d: dtypes[d]) if dtypes else torch.float16
        if self.dtype not in (torch.float32, torch.float64):
            raise _Unsuited
        self.steps: list[Step | Call] = []
        self.places: dict[Any, Place] = {}
        self.several: dict[Any, list[Place | None]] = {}
        self.made: dict[Any, Place] = {}  # results by what computes them
        self.constants: list[torch.Tensor] = []
        self.writes: list[tuple[str, Place, Place]] = []  # functions, inputs that are written to, and values

    def tape(self) -> Tape:
        count = 0
        for node in self.gm.graph.nodes:
            if node.op == "placeholder":
                self._external(node, "input", count)
                count += 1
            elif node.op == "get_attr":
                self._external(node, "constant", len(self.constants))
                self.constants.append(_attribute(self.gm, str(node.target)))
            elif node.op == "call_function":
                self._lower(node)
            elif node.op != "output":
                raise _Unsuited
        (result,) = self.gm.graph.find_nodes(op="output")
        self._refuse_written(result)
        if any(y not in self.places for y in result.args[0]):
            raise _Unsuited
        results = [self.places[y] for y in result.args[0]]
        steps = _folds.folded(self.steps, [*results, *[p for _, _, p in self.writes]])
        tape = Tape(self.dtype, count, steps, constants=self.constants)
        self.steps = steps
        for k, y in enumerate(result.args[0]):
            tape.outputs.append(self._output(k, y))
        for function, to, p in self.writes:
            step = self._map_step(function, to, [p] if function == "copy" else [to, p], 0.0)
            if step is None:
                raise _Unsuited
            steps.append(step)
            tape.written.append(to.array.source)
        return tape

    # ---- places ------------------------------------------------------------------------------------------------------

    def _external(self, node: Any, kind: str, source: int) -> None:
        t = node.meta["val"]
        if not isinstance(t, torch.Tensor) or t.device.type != "cpu" or t.layout != torch.strided:
            raise _Unsuited
        extent = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)) if t.numel() else 0
        self.places[node] = Place(Array(kind, t.dtype, extent, source), 0, tuple(t.shape), t.stride())
        self._limit(t)

    def _limit(self, t: torch.Tensor) -> None:
        if t.untyped_storage().nbytes() > _LARGEST and t.numel() * t.dtype.itemsize > _LARGEST:
            raise _Unsuited

    def _new(self, like: torch.Tensor) -> Place:
        """An array for a result."""
        self._limit(like)
        if not _is_dense(like):
            raise _Unsuited
        return Place(Array("work", like.dtype, like.numel()), 0, tuple(like.shape), like.stride())

    def _number(self, value: float, sizes: Sequence[int]) -> Place:
        key = "number", value, math.copysign(1, value)
        if key not in self.made:
            self.made[key] = Place(Array("number", self.dtype, 1, float(value)), 0, (), ())
        return Place(self.made[key].array, 0, tuple(sizes), (0,) * len(sizes))

    def number(self, value: float, like: torch.Tensor) -> Place:
        """The place of a tensor whose elements are one known number."""
        return self._number(value, tuple(like.shape))

    def known(self, x: Any) -> float | None:
        """The number that all elements of a tensor are known to be; None for others."""
        if isinstance(x, fx.Node):
            p = self.places.get(x)
            return p.array.source if p is not None and p.array.kind == "number" else None
        return float(x)

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def _lower(self, node: Any) -> None:
        if "val" not in node.meta:  # it returns nothing, as an update of a list of parameters in their places does
            raise _Unsuited
        value = node.meta["val"]
        if node.target is getitem:
            self._item(node)
            return
        self._refuse_written(node)
        if getattr(node.target, "_schema", None) is None:
            raise _Unsuited
        if node.target._schema.is_mutable:
            self._write(node)
            return
        if isinstance(value, torch.Tensor) and (base := self._viewed(node, value)) is not None:
            self.places[node] = base
            return
        rule = RULES.get(node.target)
        if rule is not None and isinstance(value, torch.Tensor) and value.device.type == "cpu":
            place = rule(self, node, value)
            if place is not None:
                self.places[node] = place
                return
        self._call(node, value)

    def _refuse_written(self, node: Any) -> None:
        written = {to.array for _, to, _ in self.writes}
        if any(x in self.places and self.places[x].array in written for x in node.all_input_nodes):
            raise _Unsuited

    def _write(self, node: Any) -> None:
        """Notes a write to an input that nothing reads later: where passes write gradients."""
        functions = {aten.copy_.default: "copy", aten.add_.Tensor: "add"}
        if node.users or node.target not in functions or node.kwargs or len(node.args) != 2:
            raise _Unsuited
        to = self.places[node.args[0]]
        p = self.operand(node.args[1], to.sizes)
        if p is None or p.mask or to.array.kind != "input" or to.array.dtype != self.dtype:
            raise _Unsuited
        self.writes.append((functions[node.target], to, p))

    def _viewed(self, node: Any, value: torch.Tensor) -> Place | None:
        """The place of a view of an argument, or None if the node computes something."""
        memory = value.untyped_storage()._cdata
        for x in node.all_input_nodes:
            t = x.meta["val"]
            if isinstance(t, torch.Tensor) and t.untyped_storage()._cdata == memory:
                if t.dtype != value.dtype or value.is_conj() or value.is_neg():
                    raise _Unsuited
                p = self.places[x]
                strides = (0,) * value.dim() if p.array.kind == "number" else value.stride()
                offset = 0 if p.array.kind == "number" else int(p.offset + value.storage_offset() - t.storage_offset())
                return Place(p.array, offset, tuple(value.shape), strides, p.mask)
        return None

    def _item(self, node: Any) -> None:
        of, k = node.args
        value = node.meta["val"]
        if of in self.several:
            p = self.several[of][k]
            if p is None:
                raise _Unsuited
            self.places[node] = p
            return
        place = self._viewed(of, value)  # a part of a split tensor
        if place is None:
            raise _Unsuited
        self.places[node] = place

    def _call(self, node: Any, value: Any) -> None:
        several = isinstance(value, (tuple, list))
        values = list(value) if several else [value]
        if not all(isinstance(v, torch.Tensor) or (v is None and several) for v in values):
            raise _Unsuited
        if any(x not in self.places for x in node.all_input_nodes):
            raise _Unsuited
        if several and any(self._viewed(node, v) is not None for v in values if v is not None):
            return  # `_item` finds the parts
        args, kwargs = fx.map_arg((node.args, node.kwargs), cast(Any, self.places.__getitem__))
        results = [None if v is None else self._new(v) for v in values]
        random = torch.Tag.nondeterministic_seeded in node.target.tags
        self.steps.append(Call(node.target, args, kwargs, results, random))
        if several:
            self.several[node] = results
        else:
            assert results[0] is not None
            self.places[node] = results[0]

    def _output(self, k: int, node: Any) -> tuple[Any, Any, torch.dtype]:
        """Makes an array, or a copy, the memory of an output."""
        p, t = self.places[node], node.meta["val"]
        if p.is_whole() and not p.mask:
            p.array.kind, p.array.source = "output", k
            return tuple(t.shape), t.stride(), t.dtype
        like = torch.empty(t.shape, dtype=t.dtype)
        to = Place(Array("output", t.dtype, t.numel(), k), 0, tuple(t.shape), like.stride())
        if t.dtype == self.dtype:
            step = self._map_step("copy", to, [p], 0.0)
            if step is not None:
                self.steps.append(step)
                return tuple(t.shape), like.stride(), t.dtype
        self.steps.append(Call(aten.clone.default, (p,), {}, [to]))
        return tuple(t.shape), like.stride(), t.dtype

    # ---- steps -------------------------------------------------------------------------------------------------------

    def operand(self, x: Any, sizes: Sequence[int]) -> Place | None:
        """A node or a number as an operand of a loop over `sizes`; None if it has another dtype."""
        if not isinstance(x, fx.Node):
            return self._number(float(x), sizes)
        p = self.places.get(x)
        if p is None or not (p.mask or p.array.dtype == self.dtype):
            return None
        return _expanded(p, sizes)

    def map(
        self, function: str, like: torch.Tensor, operands: Sequence[Any], number: float = 0.0, mask: bool = False
    ) -> Place | None:
        """The place of what a loop computes of each element; None if there is no such loop. `mask`: the result is a
        mask, as its operands may be."""
        if like.dtype != (torch.bool if mask else self.dtype):
            return None
        given = [x if isinstance(x, Place) else self.operand(x, like.shape) for x in operands]
        if any(p is None for p in given):
            return None
        places = [_expanded(p, tuple(like.shape)) for p in given if p is not None]
        return self._emit(function, like, places, number, mask)

    def _emit(self, function: str, like: torch.Tensor, places: list[Place], number: float, mask: bool) -> Place | None:
        if not _is_dense(like):
            return None
        key = (function, number, tuple(like.shape), like.stride(), *[p.unmasked() for p in places])
        if key in self.made:
            return self.made[key]
        array = Array("work", self.dtype, like.numel())
        result = Place(array, 0, tuple(like.shape), like.stride(), mask)
        self._limit(like)
        step = self._map_step(function, result, places, number)
        if step is None:
            return None
        if function != "copy" and len(step.sizes) > 1:
            # operands that are transposed are read as whole rows
            places = [
                self._in_order(p, like) if s[-1] > 1 else p for p, s in zip(places, step.strides[1:], strict=True)
            ]
            step = self._map_step(function, result, places, number)
            assert step is not None
        self.steps.append(step)
        self.made[key] = result
        return result

    def _in_order(self, p: Place, like: torch.Tensor) -> Place:
        return self._emit("copy", like, [p], 0.0, p.mask) or p

    def _map_step(self, function: str, result: Place, places: list[Place], number: float) -> Step | None:
        sizes, strides = _collapsed(result.sizes, [result.strides, *[p.strides for p in places]])
        if len(sizes) > DIMS:
            return None
        return Step(MAP, function, number, sizes, result, places, strides)

    def reduce(self, kind: int, like: torch.Tensor, x: Any, dims: Sequence[int], keep: bool) -> Place | None:
        p = self.places.get(x)
        if p is None or p.mask or p.array.dtype != self.dtype or like.dtype != self.dtype or p.array.kind == "number":
            return None
        return self._reduction(kind, like, [p], dims, keep)

    def _reduction(
        self, kind: int, like: torch.Tensor, places: list[Place], dims: Sequence[int], keep: bool
    ) -> Place | None:
        sizes = places[0].sizes
        gone = {d % len(sizes) for d in dims} if sizes else set()
        key = (kind, tuple(like.shape), *[p.unmasked() for p in places], *sorted(gone))
        if key in self.made:
            return self.made[key]
        result = self._new(like)
        own = iter(result.strides)
        to = []
        for d in range(len(sizes)):
            if d in gone:
                to.append(0)
                if keep:
                    next(own)
            else:
                to.append(next(own))
        # along a dimension of size 1 that is kept, a stride of 0 and any other are the same
        order = sorted(range(len(sizes)), key=lambda d: -places[0].strides[d])
        sizes, strides = _merged(
            [sizes[d] for d in order], [[s[d] for d in order] for s in (to, *[p.strides for p in places])]
        )
        if len(sizes) > DIMS:
            return None
        self.steps.append(Step(kind, "copy", 1.0, sizes, result, places, strides))
        self.made[key] = result
        return result

    def dot(self, like: torch.Tensor, a: Any, b: Any) -> Place | None:
        given = [self.places[a], self.places[b]]
        if any(p.mask or p.array.dtype != self.dtype for p in given):
            return None
        return self._reduction(DOT, like, given, [0], False)

    def product(self, like: torch.Tensor, a: Any, b: Any, added: Any = None) -> Place | None:
        """The place of a product of matrices, which may be batches."""
        x, y = self.places[a], self.places[b]
        if any(p.mask or p.array.dtype != self.dtype for p in (x, y)) or like.dim() - 2 + 3 > DIMS:
            return None
        if not like.is_contiguous():
            return None
        batch = tuple(like.shape[:-2])
        rows, depth = x.sizes[-2:]
        columns = y.sizes[-1]
        x, y = _expanded(x, (*batch, rows, depth)), _expanded(y, (*batch, depth, columns))
        d = None if added is None else self.operand(added, like.shape)
        if added is not None and d is None:
            return None
        if columns == 1 and x.strides[-2] == 1 and rows > 1 and not batch:
            # one column: as a row, which is a vector
            x, y = _transposed(y), _transposed(x)
            rows, columns = columns, rows
            d = None if d is None else _transposed(d)
        if columns > 1 and y.strides[-1] != 1:
            y = self._emit("copy", torch.empty(y.sizes, device="meta", dtype=self.dtype), [y], 0.0, False) or y
        if d is not None and d.strides[-1] not in (0, 1) and columns > 1:
            d = self._emit("copy", torch.empty(d.sizes, device="meta", dtype=self.dtype), [d], 0.0, False)
        key = ("product", tuple(like.shape), x.unmasked(), y.unmasked(), None if d is None else d.unmasked())
        if key in self.made:
            return self.made[key]
        result = self._new(like)
        sizes = (*batch, rows, columns, depth)
        own = (*result.strides[:-2], columns, 1, 0)
        strides = [own, (*x.strides[:-1], 0, x.strides[-1]), (*y.strides[:-2], 0, y.strides[-1], y.strides[-2])]
        if d is not None:
            strides.append((*d.strides, 0))
        self.steps.append(Step(PRODUCT, "copy", 1.0, sizes, result, [x, y] if d is None else [x, y, d], strides))
        self.made[key] = result
        return result


def _is_dense(t: torch.Tensor) -> bool:
    """Whether the elements are next to each other in memory, in any order of the dimensions."""
    expected = 1
    for stride, size in sorted((s, n) for n, s in zip(t.shape, t.stride(), strict=True) if n > 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _attribute(gm: fx.GraphModule, name: str) -> torch.Tensor:
    found: Any = gm
    for part in name.split("."):
        found = getattr(found, part)
    own: torch.Tensor = found.detach()
    return own


def _expanded(p: Place, sizes: Sequence[int]) -> Place:
    more = len(sizes) - len(p.sizes)
    own = ((1,) * more + p.sizes, (0,) * more + p.strides)
    strides = tuple(0 if a == 1 else s for a, s in zip(*own, strict=True))
    return replace(p, sizes=tuple(sizes), strides=strides)


def _transposed(p: Place) -> Place:
    return replace(p, sizes=p.sizes[::-1], strides=p.strides[::-1])


def _collapsed(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The dimensions of a loop, those of the result's memory from the outside, as few as possible."""
    order = sorted(range(len(sizes)), key=lambda d: -strides[0][d])
    return _merged([sizes[d] for d in order], [[s[d] for d in order] for s in strides])


def _merged(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    new_sizes: list[int] = []
    new_strides: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(sizes):
        if n == 1:
            continue
        if new_sizes and all(new[-1] == s[d] * n for new, s in zip(new_strides, strides, strict=True)):
            new_sizes[-1] *= n
            for new, s in zip(new_strides, strides, strict=True):
                new[-1] = s[d]
            continue
        new_sizes.append(n)
        for new, s in zip(new_strides, strides, strict=True):
            new.append(s[d])
    return tuple(new_sizes), [tuple(s) for s in new_strides]
