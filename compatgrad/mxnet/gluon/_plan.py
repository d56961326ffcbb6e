"""Plans of hybridized blocks: calls in prediction mode on the CPU run a program, compiled from the block's graph.

A plan is used as long as nothing has changed that its program contains: parameters, blocks inside, their attributes and
hooks. Else the block runs operator by operator, until the same call has come often enough for a new plan.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Sequence
from operator import is_
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core import fixed_layers
from compatgrad.core.changes import Changes
from compatgrad.core.shared_memory import is_shared

from .. import ndarray as nd
from ..symbol._growth import moderate
from ..symbol._inference import Program, compiled
from ._changes import ObservedDict
from ._scope import _state

_WISH = os.environ.get("COMPATGRAD_PLANS", "1")
if _WISH not in ("0", "1"):
    raise ValueError(f"COMPATGRAD_PLANS must be 0 or 1, got {_WISH!r}")
PLANS = _WISH == "1"
_get_mode, _hooks = _C.get_mode, _C.function_hooks
_NDArray = nd.NDArray
_CALLS = 6  # calls that run operator by operator before a plan is made
_MOST_CALLS = 256  # the same number, if plans were of little use
_SIGNATURES = 2  # plans of a block, for inputs of different shapes
_LAYERS = 2  # convolutions, large products and attentions, below which a plan gains less than its checks take
_MATRIX = 1 << 12  # numbers of a matrix, below which a network is not looked at because of it
# the modules of HybridBlock and SymbolBlock: their methods do the same with symbols as with arrays
_OWN = tuple(f"{__package__}.{name}" for name in ("_hybrid", "_block", "block"))
_PRECISION = 1e-4  # the largest difference from the results of operators, relative to the largest result


def plain_call() -> bool:
    """Whether operators in this thread do nothing but compute: nothing records, traces, observes or replaces them."""
    return not (
        _get_mode("recording")
        or _get_mode("training")
        or _hooks()
        or _C.traced()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._len_torch_function_stack()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._get_tracing_state() is not None
        or torch.is_autocast_enabled("cpu")
        or torch.are_deterministic_algorithms_enabled()
        or not fixed_layers.available()
    )


def _usable(x: Any) -> bool:
    """Whether an array can be an input or a parameter of a program."""
    if type(x) is not _NDArray or x._ctx is not None:
        return False
    t = x.tensor
    return (
        type(t) is torch.Tensor
        and t.dtype is torch.float32
        and t.device.type == "cpu"
        and t.layout is torch.strided
        and not (t.requires_grad or t.is_inference())
        and t.numel() > 0
    )


def _finite(t: torch.Tensor) -> bool:
    """Whether all numbers are finite; perhaps also False if they are so large that their sum is not."""
    return math.isfinite(t.sum())


def _blocks(root: Any) -> list[Any]:
    """The block and all inside it, each once."""
    found: dict[int, Any] = {}
    todo = [root]
    while todo:
        block = todo.pop()
        if id(block) not in found:
            found[id(block)] = block
            todo.extend(block._children.values())
    return list(found.values())


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in (int, float, str) and a == b)


class _State:
    """What a program of a block depends on, as it is when the program is made."""

    def __init__(self, block: Any) -> None:
        self.last = Changes.last
        self.blocks = _blocks(block)
        self.children = [list(b._children.values()) for b in self.blocks]
        self.attributes = [list(vars(b).values()) for b in self.blocks]
        self.parameters: list[Any] = []
        self.nesting: Any = 0

    def add_parameters(self, parameters: list[Any]) -> None:
        """Notes the parameters that the program reads, each on one context."""
        self.parameters = parameters
        self.arrays = [p._one[0] for p in parameters]
        self.memory = _C.versions(self.arrays)

    def forget_parameters(self, names: set[str]) -> bool:
        """Leaves out parameters whose values have no effect. False if one was written since they were noted."""
        before = self.memory
        self.add_parameters([p for p in self.parameters if p.name not in names])
        return _C.unwritten(before)

    def suits(self) -> bool:
        """Whether a program can stand for the block: its class, and those inside, run `hybrid_forward` and no more."""
        for b in self.blocks:
            own = vars(b)
            if "forward" in own or "__call__" in own:
                return False
            if any(method.__module__ not in _OWN for method in (type(b).forward, type(b).__call__)):
                return False
            for container in (b._children, b._forward_hooks, b._forward_pre_hooks):
                if type(container) is not ObservedDict:
                    return False
        return True

    def hooked(self) -> bool:
        """Whether a program calls a hook of the block or of one inside."""
        return any(b._forward_hooks or b._forward_pre_hooks for b in self.blocks)

    def holds(self) -> bool:
        """Whether nothing has changed. Blocks are compared only after a change of some block or parameter."""
        if not _C.unwritten(self.memory):
            return False
        last = Changes.last
        if last is self.last:
            return True
        for b, children, attributes in zip(self.blocks, self.children, self.attributes, strict=True):
            now = vars(b).values()
            if len(now) != len(attributes) or not all(map(_same, now, attributes)):
                return False
            if len(b._children) != len(children) or not all(map(is_, b._children.values(), children)):
                return False
        if self.hooked() or not all(map(is_, [p._one[0] for p in self.parameters], self.arrays)):
            return False
        if any(is_shared(x.tensor) for x in self.arrays):
            return False
        self.last = last
        return True


class Planner:
    """The plans of a block."""

    def __init__(self, block: Any = None) -> None:
        self.owner = id(block)
        self.lock = threading.Lock()
        self.clear()

    def __reduce__(self) -> Any:
        return Planner, ()  # a copied or loaded block makes its own plans

    def clear(self) -> None:
        """Forgets everything, because the block was hybridized anew or cast."""
        self.plans: dict[Any, tuple[Program, _State]] = {}
        self.calls: dict[Any, int] = {}  # by signature, since the plans were dropped
        self.wait = _CALLS
        self.used = 0  # calls that were run by plans since these were made
        self.refused = False  # no plan can be made of this block
        self.known = False  # whether `refused` was decided for the layers of the block

    def drop(self) -> None:
        """Frees the plans, because the block trains or something has changed. Plans that were of little use are made
        again after more calls than before.
        """
        if self.plans:
            self.wait = _CALLS if self.used > self.wait else min(2 * self.wait, _MOST_CALLS)
            self.plans = {}
        self.calls = {}
        self.used = 0

    def run(self, inputs: Sequence[Any]) -> tuple[list[Any], Any] | None:
        """The block's results in a list and how they are nested, by a plan; None where there is none."""
        if self.refused:
            return None
        if _get_mode("recording") or _get_mode("training"):
            if self.plans or self.calls:
                self.drop()
            return None
        if not self.plans:
            return None
        if not all(map(_usable, inputs)):
            self.drop()
            return None
        found = self.plans.get(tuple(x.shape for x in inputs))
        if found is None or not plain_call():
            return None
        program, state = found
        if not state.holds():
            self.drop()
            return None
        results = program.run([x.tensor for x in inputs])
        if results is None:
            return None
        self.used += 1
        return [_NDArray(t) for t in results], state.nesting

    def learn(self, block: Any, inputs: Sequence[Any], outputs: list[Any], nesting: Any) -> None:
        """Counts a call that ran operator by operator, and makes a plan if there have been enough. `nesting`: how the
        block nests its outputs; it may be another than in the first call.
        """
        if not self.known:
            self.known, self.refused = True, _weights(block) < _LAYERS
        if self.refused or not plain_call() or not all(map(_usable, (*inputs, *outputs))):
            return
        key = tuple(x.shape for x in inputs)
        count = self.calls[key] = self.calls.get(key, 0) + 1
        if len(self.calls) > 4 * _SIGNATURES:
            self.calls.pop(next(iter(self.calls)))
        if count <= self.wait or not self.lock.acquire(blocking=False):
            return
        try:
            state = _State(block)
            if state.hooked() or not all(_finite(x.tensor) for x in (*inputs, *outputs)):
                self.calls[key] = 0  # perhaps later
                return
            program = _compiled(block, state, inputs, outputs) if state.suits() else None
            if program is None:
                self.refused = True
                return
            while len(self.plans) >= _SIGNATURES:
                self.plans.pop(next(iter(self.plans)))
            state.nesting = nesting
            self.plans[key] = program, state
            self.calls.pop(key, None)
        finally:
            self.lock.release()


def _weights(block: Any) -> int:
    """The number of parameters that may be filters of convolutions over two axes, or matrices of large products or
    around an attention."""
    arrays = [p._one[0] for b in _blocks(block) for p in b._reg_params.values()]
    return sum(x is not None and (x.ndim == 4 or (x.ndim == 2 and x.size >= _MATRIX)) for x in arrays)


def _compiled(block: Any, state: _State, inputs: Sequence[Any], outputs: list[Any]) -> Program | None:
    """A program of the block for such inputs; None if there is none that gives these outputs."""
    named: dict[str, Any] = {}
    for b in state.blocks:
        for p in b._reg_params.values():
            if named.setdefault(p.name, p) is not p:
                return None
    state.add_parameters([p for p in named.values() if p._one[0] is not None])
    tensors = [x.tensor for x in state.arrays]
    if not all(map(_usable, state.arrays)) or any(map(is_shared, tensors)) or not all(map(moderate, tensors)):
        return None
    given = [x.tensor for x in inputs]
    outer, _state.hybridized = _state.hybridized, True
    try:
        variables, symbol = block._get_graph(*inputs)
    except Exception:  # hybrid_forward does not run on symbols, for example
        return None
    finally:
        _state.hybridized = outer
    names = [x.name for x in variables]
    if set(names) & set(named):
        return None
    values = {p.name: t for p, t in zip(state.parameters, tensors, strict=True)}
    try:
        with torch.no_grad():
            found = compiled(symbol._outputs, dict(zip(names, given, strict=True)), values)
    except Exception as error:  # the call has its results, which must not be lost
        warnings.warn(
            f"{block.name}: compatgrad could not make a plan of this block, so each call runs operator by operator. "
            f"Please report this error: {error!r}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    if found is None:
        return None
    program, results = found
    if program.packed < _LAYERS or len(results) != len(outputs) or not state.forget_parameters(program.unread):
        return None
    memory = {t.untyped_storage().data_ptr() for t in (*given, *tensors)}
    for t, y in zip(results, outputs, strict=True):
        if t.shape != y.tensor.shape or t.untyped_storage().data_ptr() in memory or not _close(t, y.tensor):
            return None
        memory.add(t.untyped_storage().data_ptr())
    return program


def _close(t: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether results are equal to rounding."""
    finite = expected[expected.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return torch.allclose(t, expected, rtol=_PRECISION, atol=_PRECISION * largest, equal_nan=True)
