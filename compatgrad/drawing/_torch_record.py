"""The data for pictures of torch functions that are nodes (`interop.call`): parameters, and tensors that torch
keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compatgrad import _C


@dataclass
class Record:
    """A call of a torch function."""

    name: str
    module: torch.nn.Module | None  # None if the function is not a module
    ys: Sequence[torch.Tensor]  # the results, with torch's graph behind them

    def words(self) -> list[str]:
        """The settings of a module, from its repr, or the classes of its children."""
        if self.module is None:
            return []
        children = [type(child).__name__ for child in self.module.children()]
        return children or [word for word in self.module.extra_repr().split(", ") if word]

    def parameters(self, inputs: Sequence[Any]) -> Iterator[tuple[Any, str, torch.Tensor]]:
        """The inputs of the function that represent parameters of the module: node, name, parameter."""
        if self.module is None:
            return
        nodes = {node.tensor.data_ptr(): node for node in inputs if node.tensor is not None}
        for name, p in self.module.named_parameters():
            if p.numel() and (node := nodes.get(p.data_ptr())) is not None:
                yield node, name, p

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The tensors that torch keeps for backward, named by torch's function and the tensor's role in it."""
        todo = [y.grad_fn for y in self.ys if y.grad_fn is not None]
        seen = set(todo)
        while todo:
            f = todo.pop()
            kind = f.name().rpartition("::")[2].rstrip("0123456789").removesuffix("Backward")
            for name, value in _saved(f):
                for t in value if isinstance(value, (tuple, list)) else (value,):
                    if isinstance(t, torch.Tensor):
                        yield f"{kind}.{name}", t
            for g, _ in f.next_functions:
                if g is not None and g not in seen:
                    seen.add(g)
                    todo.append(g)


def record_of(f: Any) -> Record | None:
    """The call that a function node represents; None if it is not a torch function."""
    found = _C.torch_record(f)
    if found is None:
        return None
    function, name, ys = found
    return Record(name, function if isinstance(function, torch.nn.Module) else None, ys)


def _saved(f: Any) -> Iterator[tuple[str, Any]]:
    """The `_saved_` attributes of a built-in torch function, or the `saved_tensors` of one written in Python."""
    for name in dir(f):
        if name == "saved_tensors" or name.startswith("_saved_"):
            try:
                yield name.removeprefix("_saved_"), getattr(f, name)
            except RuntimeError:  # a pass has freed it, or it was overwritten
                continue
