"""Graphs of functions of few numbers as tapes: lists of loops in C++, over arrays that are allocated once.

A tape needs no compiler, and a loop of it begins in some nanoseconds, where a call of torch takes a microsecond and
code that a compiler made of the whole graph is read from memory once for each call.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree

from compatgrad import _C

__all__ = ["DIMS", "FUNCTIONS", "Array", "Call", "Place", "Step", "Tape"]

MAP, SUM, DOT, MAX, PRODUCT = range(5)  # as in csrc/kernels/tape.h, like the names of functions
FUNCTIONS = {
    name: k
    for k, name in enumerate(
        "copy abs exp tanh sigmoid relu sqrt rsqrt reciprocal square sign erf add sub mul div maximum minimum "
        "add_scaled relu_grad leaky_relu_grad tanh_grad sigmoid_grad gt ge lt le eq ne where".split()
    )
}
DIMS = 5  # the most dimensions of a step
_LINE = 64  # bytes: arrays begin at a cache line


@dataclass(eq=False)
class Array:
    """Memory of numbers: of an input (`source`: its number), of a constant (a tensor), of an output (its number), of
    one number that is known (a float), or of an intermediate result."""

    kind: str  # "input", "constant", "output", "number" or "work"
    dtype: torch.dtype
    elements: int
    source: Any = None
    offset: int = 0  # in the workspace, in bytes

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class Place:
    """A tensor: where its elements are in an array. `mask`: truth values, which a tape stores as 0 and 1."""

    array: Array
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    mask: bool = False

    def is_whole(self) -> bool:
        return self.offset == 0 and math.prod(self.sizes) == self.array.elements and self.array.kind == "work"

    def unmasked(self) -> Place:
        """The same elements, read as numbers (0 or 1) and not as a mask."""
        return replace(self, mask=False)


@dataclass(eq=False)
class Step:
    """A loop. `sizes`: of its dimensions; `strides`: of its result and of each operand along these."""

    kind: int
    function: str
    number: float
    sizes: tuple[int, ...]
    result: Place
    operands: list[Place]
    strides: list[tuple[int, ...]]

    def reads(self) -> list[Array]:
        return [p.array for p in self.operands]

    def writes(self) -> list[Array]:
        return [self.result.array]


@dataclass(eq=False)
class Call:
    """A call of torch for what has no loop. Places stand for tensors in `args`; `results`: where its results are put,
    None for a result that nothing reads."""

    op: Any
    args: Any
    kwargs: Any
    results: list[Place | None]
    random: bool = False

    def given(self) -> list[Place]:
        return [x for x in _pytree.tree_leaves((self.args, self.kwargs)) if isinstance(x, Place)]

    def reads(self) -> list[Array]:
        return [p.array for p in self.given()]

    def writes(self) -> list[Array]:
        return [p.array for p in self.results if p is not None]


@dataclass
class Tape:
    """The steps of a graph, in order, its outputs (sizes, strides, dtypes) and which inputs it writes to."""

    dtype: torch.dtype
    inputs: int
    steps: list[Step | Call] = field(default_factory=list)
    outputs: list[tuple[Any, Any, torch.dtype]] = field(default_factory=list)
    constants: list[torch.Tensor] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def function(self) -> Callable[..., list[torch.Tensor]]:
        """The tape as a function of the inputs."""
        return _Function(self)


class _Function:
    def __init__(self, tape: Tape) -> None:
        self.constants, self.inputs = tape.constants, tape.inputs
        self.numbers = list({a: None for s in tape.steps for a in s.reads() if a.kind == "number"})
        self.bytes = _allocate(tape.steps, self.numbers)
        self.count = tape.inputs + len(tape.constants)
        loops: list[Any] = []
        self.parts: list[Any] = []  # pairs of the first and the last loop, and calls
        for step in tape.steps:
            if isinstance(step, Call):
                self.parts.append(step)
                continue
            if not self.parts or isinstance(self.parts[-1], Call):
                self.parts.append([len(loops), len(loops)])
            loops.append(self._loop(step))
            self.parts[-1][1] = len(loops)
        self.tape = _C.tape(tape.dtype == torch.float64, self.count, loops, tape.outputs, tape.written)
        self.loops = len(loops)
        # workspaces that no call uses now: another thread, or a signal's handler, gets another one
        self.free = [self._workspace()]

    def _memory(self, a: Array) -> int:
        if a.kind == "input":
            return 1 + int(a.source)
        if a.kind == "constant":
            return 1 + self.inputs + int(a.source)
        return 1 + self.count + int(a.source) if a.kind == "output" else 0

    def _loop(self, s: Step) -> tuple[Any, ...]:
        def operand(p: Place, strides: Sequence[int]) -> tuple[Any, ...]:
            return self._memory(p.array), p.array.offset + p.offset * p.array.dtype.itemsize, strides

        operands = [operand(p, strides) for p, strides in zip(s.operands, s.strides[1:], strict=True)]
        return s.kind, FUNCTIONS[s.function], s.number, s.sizes, operand(s.result, s.strides[0]), operands

    def _workspace(self) -> Any:
        memory = torch.empty(max(self.bytes, 1), dtype=torch.uint8)
        for a in self.numbers:
            memory[a.offset : a.offset + a.bytes].view(a.dtype).fill_(a.source)
        return memory

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        given = [*inputs, *self.constants]
        try:
            memory = self.free.pop()
        except IndexError:
            memory = self._workspace()
        try:
            if len(self.parts) == 1 and not isinstance(self.parts[0], Call):
                return _C.run_tape(self.tape, 0, self.loops, memory, given, None)
            outputs = _C.run_tape(self.tape, 0, 0, memory, given, None)
            with torch.no_grad():
                for part in self.parts:
                    if isinstance(part, Call):
                        self._call(part, memory, given, outputs)
                    else:
                        _C.run_tape(self.tape, part[0], part[1], memory, given, outputs)
            return outputs
        finally:
            self.free.append(memory)

    def _call(self, call: Call, memory: torch.Tensor, given: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        def tensor(p: Place) -> torch.Tensor:
            a = p.array
            if a.kind in ("input", "constant", "output"):
                whole = outputs[a.source] if a.kind == "output" else given[self._memory(a) - 1]
            else:
                whole = memory[a.offset : a.offset + a.bytes].view(a.dtype)
            return whole.as_strided(p.sizes, p.strides, whole.storage_offset() + p.offset)

        def argument(x: Any) -> Any:
            return (tensor(x).ne(0) if x.mask else tensor(x)) if isinstance(x, Place) else x

        args, kwargs = _pytree.tree_map(argument, (call.args, call.kwargs))
        found = call.op(*args, **kwargs)
        for p, y in zip(call.results, found if isinstance(found, (tuple, list)) else [found], strict=True):
            if p is not None:
                tensor(p).copy_(y)


def _allocate(steps: Iterable[Step | Call], numbers: Iterable[Array]) -> int:
    """Gives each array in the workspace its offset; the size of the workspace. Memory of arrays that are not read any
    more is used again, what was used last at first."""
    end = 0
    for a in numbers:
        a.offset, end = end, end + a.dtype.itemsize
    end = -(-end // _LINE) * _LINE
    steps = list(steps)
    last = {a: k for k, s in enumerate(steps) for a in (*s.reads(), *s.writes()) if a.kind == "work"}
    free: dict[int, list[int]] = defaultdict(list)
    known: set[Array] = set()
    for k, s in enumerate(steps):
        for a in s.writes():
            if a.kind == "work" and a not in known:
                known.add(a)
                lines = max(-(-a.bytes // _LINE), 1)
                if free[lines]:
                    a.offset = free[lines].pop()
                else:
                    a.offset, end = end, end + lines * _LINE
        for a in {*s.reads(), *s.writes()}:
            if last.get(a) == k:
                free[max(-(-a.bytes // _LINE), 1)].append(a.offset)
    return end
