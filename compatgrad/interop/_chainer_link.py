"""The link that `as_chainer_link` returns."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from compatgrad.chainer.configuration import config
from compatgrad.chainer.link import Chain
from compatgrad.chainer.variable import Parameter, as_variable
from compatgrad.core.torch_call import call_with
from compatgrad.interop._torch_modules import follow


class TorchLink(Chain):
    """A torch module as a link, whose parameters share memory with the module's.

    Buffers, and parameters that require no gradient, are persistent values.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self._trained: list[tuple[list[str], torch.Tensor]] = []
        self._kept: list[tuple[list[str], torch.Tensor]] = []
        for path, t in (*module.named_parameters(), *module.named_buffers()):
            names = [f"_{part}" if part.isdigit() else part for part in path.split(".")]
            owner = self._chain(names[:-1])
            if hasattr(owner, names[-1]):
                raise ValueError(f"as_chainer_link: module: {path}: a Chain already has an attribute of that name")
            if t.requires_grad:
                with owner.init_scope():
                    setattr(owner, names[-1], Parameter(t.detach().numpy()))
                self._trained.append((names, t))
            else:
                owner.add_persistent(names[-1], t.detach().numpy())
                self._kept.append((names, t))

    def _chain(self, names: list[str]) -> Any:
        """The chain below this one at the path `names`; missing chains are created."""
        owner: Any = self
        for name in names:
            if name not in owner._children:
                if hasattr(owner, name):
                    raise ValueError(f"as_chainer_link: module: a Chain already has an attribute {name!r}")
                with owner.init_scope():
                    setattr(owner, name, Chain())
            owner = owner[name]
        return owner

    def _value(self, names: list[str]) -> Any:
        owner: Any = self
        for name in names:
            owner = owner.__dict__[name]
        return owner

    def _join(self) -> list[tuple[Any, torch.Tensor]]:
        """Makes the module use the link's arrays if these were replaced; returns pairs of the link's and the module's
        parameters."""
        for names, t in self._kept:
            follow(t, torch.from_numpy(np.asarray(self._value(names))))
        pairs = [(self._value(names), t) for names, t in self._trained]
        for own, t in pairs:
            follow(t, own.tensor)
        return pairs

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._join()  # the memory of a copy is separate

    def copy(self, mode: str = "share") -> Any:
        if mode != "init":
            return super().copy(mode)
        link = copy.deepcopy(self)
        for part in link.module.modules():
            if callable(reset := getattr(part, "reset_parameters", None)):
                reset()
        return link

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.module.train(config.train)
        pairs = [(own, t) for own, t in self._join() if t.requires_grad]
        args = tuple(as_variable(a) if hasattr(a, "__array_interface__") else a for a in args)
        return call_with(self.module, pairs, args, kwargs)
