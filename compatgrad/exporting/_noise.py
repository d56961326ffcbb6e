"""How large the rounding errors in the results of a graph are, and whether a difference from the network is larger.

A sum of numbers that cancel, a division by a small difference or a deep network makes large errors of the last digits.
Then two orders of summation differ by more than a fixed tolerance, although both are right.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree

__all__ = ["Noise", "doubled", "noisy", "wide"]

_WIDER = dict.fromkeys((torch.float16, torch.bfloat16, torch.float32), torch.float64)
_WIDER[torch.complex64] = torch.complex128
_TRIES = 6  # runs, each with other random rounding errors
_FACTOR = 4.0  # the network's error may be larger than the largest of these runs by this factor

Results = Sequence[tuple[str, Any]]


def doubled(gm: fx.GraphModule) -> fx.GraphModule:
    """A copy of a graph, with copies of its parameters and buffers, that computes in float64."""
    twin = copy.deepcopy(gm)
    for node in twin.graph.nodes:
        wider = _pytree.tree_map(
            lambda a: _WIDER.get(a, a) if isinstance(a, torch.dtype) else a, (node.args, node.kwargs)
        )
        node.args, node.kwargs = wider
    twin.recompile()
    twin._apply(wide)
    return twin


def wide(t: torch.Tensor) -> torch.Tensor:
    """The tensor in float64, if it contains floating-point numbers."""
    return t.to(_WIDER.get(t.dtype, t.dtype))


class _Noisy(fx.Interpreter):
    """Runs a graph with a random rounding error added to the result of each call, and to its gradient in a backward
    pass. Two orders of summation differ by errors of this size."""

    def __init__(self, gm: fx.GraphModule, generator: torch.Generator) -> None:
        super().__init__(gm, garbage_collect_values=True)
        self.generator = generator

    def rounded(self, t: torch.Tensor) -> torch.Tensor:
        draws = torch.rand(t.shape, generator=self.generator).mul_(2).sub_(1).mul_(torch.finfo(t.dtype).eps)
        return t + t.detach() * draws.to(t.device, t.dtype)

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if n.op not in ("placeholder", "call_function"):
            return result
        schema = getattr(n.target, "_schema", None)
        if schema is not None and (schema.is_mutable or any(r.alias_info for r in schema.returns)):
            return result  # later calls may write to the same memory
        return _pytree.tree_map_only(torch.Tensor, self._noisy, result)

    def _noisy(self, t: torch.Tensor) -> torch.Tensor:
        if not t.is_floating_point():
            return t
        t = self.rounded(t)
        if t.requires_grad:
            t.register_hook(self.rounded)
        return t


def noisy(gm: fx.GraphModule, generator: torch.Generator) -> Callable[..., Any]:
    """A function that runs the graph with random rounding errors in all of its calls."""
    return _Noisy(gm, generator).run


class Noise:
    """The rounding errors in the results of a graph.

    exact: returns the results of the graph in float64.
    found: the results of the graph.
    again: returns the results of the graph with rounding errors from a generator.
    """

    def __init__(
        self, exact: Callable[[], Results], found: Results, again: Callable[[torch.Generator], Results]
    ) -> None:
        self.exact = [(name, t) for name, t in exact()]
        self.largest = [_distance(b, c) for (_, b), (_, c) in zip(found, self.exact, strict=True)]
        generator = torch.Generator().manual_seed(0)
        for _ in range(_TRIES):
            for k, ((_, b), (_, c)) in enumerate(zip(found, again(generator), strict=True)):
                self.largest[k] = max(self.largest[k], _distance(b, c))

    def explains(self, k: int, a: Any) -> bool:
        """Whether rounding errors explain how far `a`, result `k` of the network, is from the exact result."""
        exact = self.exact[k][1]
        if a.shape != exact.shape or not (a.is_floating_point() or a.is_complex()):
            return False
        return _distance(a, exact) <= _FACTOR * self.largest[k] < float("inf")


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest absolute difference; infinite if other elements are infinite or NaN."""
    if not a.numel() or not (a.is_floating_point() or a.is_complex()):
        return 0.0
    a, b = wide(a), wide(b)
    finite = a.isfinite() & b.isfinite()
    if not torch.equal(a[~finite], b[~finite]) and not (a.isnan() == b.isnan()).all():
        return float("inf")
    return float((a - b)[finite].abs().max()) if finite.any() else 0.0
