"""Parameters of torch's layers whose elements come from several legacy parameters, or in another order.

The number of a legacy element is its place in all parameters of the network, one after the other, beginning with 1; 0
stands for a zero that no parameter contains. What the network does to its parameters before a layer (it joins, cuts and
reorders them) is done to these numbers; afterwards they say where each element of torch's parameter comes from.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

__all__ = ["Gathered", "Numbers"]

aten = torch.ops.aten
# calls that move elements and change none
_MOVES = {
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.cat.default, aten.stack.default,
    aten.slice.Tensor, aten.select.int, aten.split.Tensor, aten.split_with_sizes.default, aten.t.default,
    aten.transpose.int, aten.permute.default, aten.clone.default, aten.unsqueeze.default, aten.squeeze.dim,
    aten.squeeze.default, aten.detach.default, aten.alias.default, aten.unbind.int, aten.constant_pad_nd.default,
    aten.as_strided.default,
}  # fmt: skip


class Gathered:
    """Where the elements of a parameter of torch come from.

    names: the legacy parameters. index: for each element its place in these, one after the other, beginning with 1; 0
    for a zero.
    """

    def __init__(self, names: tuple[str, ...], index: torch.Tensor) -> None:
        self.names, self.shape = names, tuple(index.shape)
        self.index = index.flatten().contiguous()
        self.has_zeros = bool((index == 0).any())
        digest = hashlib.sha1(self.index.numpy().tobytes(), usedforsecurity=False).hexdigest()
        self._key = (names, self.shape, digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gathered) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def put(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The parameter of torch, from the legacy ones or, likewise, its gradient from theirs."""
        parts = [tensors[name].detach().flatten() for name in self.names]
        return torch.cat([parts[0].new_zeros(1), *parts])[self.index].reshape(self.shape)


class Numbers:
    """The numbers of the elements of all parameters."""

    def __init__(self, state: Mapping[str, torch.Tensor]) -> None:
        self._shapes = {name: tuple(t.shape) for name, t in state.items()}
        self._starts: dict[str, int] = {}
        end = 1
        for name, t in state.items():
            self._starts[name] = end
            end += t.numel()

    def named(self, name: str) -> torch.Tensor | None:
        """The numbers of a parameter's elements; None if there is no such parameter."""
        if name not in self._starts:
            return None
        shape = self._shapes[name]
        return torch.arange(self._starts[name], self._starts[name] + torch.Size(shape).numel()).reshape(shape)

    def of(self, value: Any) -> torch.Tensor | None:
        """The numbers of the elements of a trace's Value, or None if it does not consist of parameters."""
        return self._of(value, {})

    def _of(self, value: Any, known: dict[int, Any]) -> torch.Tensor | None:
        if value.kind == "state":
            return self.named(value.source)
        if value.kind != "result" or value.source.op not in _MOVES:
            return None
        call = value.source
        if call.op is aten.constant_pad_nd.default and len(call.args) > 2 and call.args[2]:
            return None
        if id(call) not in known:
            known[id(call)] = self._run(call, known)
        found = known[id(call)]
        if found is None or value.index is None:
            return None if isinstance(found, (list, tuple)) else found
        part: torch.Tensor = found[value.index]
        return part

    def _run(self, call: Any, known: dict[int, Any]) -> Any:
        inputs = {id(v): self._of(v, known) for v in call.inputs()}
        if any(t is None for t in inputs.values()):
            return None

        def real(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return type(x)(real(y) for y in x)
            return inputs.get(id(x), x)

        return call.op(*real(call.args), **call.kwargs)

    def of_node(self, node: fx.Node) -> torch.Tensor | None:
        """The same for a node of a graph."""
        if node.op == "get_attr":
            return self.named(str(node.target))
        args: Any = node.args
        if node.target is operator.getitem:
            whole: Any = self.of_node(args[0])
            return None if whole is None else whole[args[1]]
        if node.target not in _MOVES or (node.target is aten.constant_pad_nd.default and any(args[2:])):
            return None
        found = {n: self.of_node(n) for n in node.all_input_nodes}
        if any(t is None for t in found.values()):
            return None
        made: Any = node.target(*fx.map_arg(args, found.get), **node.kwargs)
        return made  # type: ignore[no-any-return]

    def gathered(self, numbers: torch.Tensor) -> Gathered:
        """The parameter whose elements have these numbers."""
        names = [
            name
            for name, start in self._starts.items()
            if bool(((numbers >= start) & (numbers < start + torch.Size(self._shapes[name]).numel())).any())
        ]
        index, end = torch.zeros_like(numbers), 0
        for name in names:
            start, size = self._starts[name], torch.Size(self._shapes[name]).numel()
            own = (numbers >= start) & (numbers < start + size)
            index = torch.where(own, numbers - start + 1 + end, index)
            end += size
        return Gathered(tuple(names), index)
