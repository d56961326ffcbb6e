"""torch modules as Chainer links and Gluon blocks, which own their parameters."""

from __future__ import annotations

import functools
from typing import Any

import torch

from compatgrad.interop._torch import call_with

__all__ = ["as_chainer_link", "as_gluon_block"]


@functools.cache
def _link_class() -> type:
    from compatgrad import chainer

    class TorchLink(chainer.Chain):
        """A torch module as a link: its parameters are this link's, on the same memory."""

        def __init__(self, module: torch.nn.Module) -> None:
            super().__init__()
            self.module = module
            self._pairs = []
            for path, parameter in module.named_parameters():
                own = chainer.Parameter(parameter.detach().numpy())
                _place(self, path.split("."), own, chainer.Chain)
                self._pairs.append((own, parameter))

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            self.module.train(chainer.config.train)
            for own, parameter in self._pairs:
                follow(parameter, own.tensor)
            wanted = [(own, p) for own, p in self._pairs if p.requires_grad]
            args = tuple(chainer.as_variable(a) if hasattr(a, "__array_interface__") else a for a in args)
            return call_with(self.module, wanted, args, kwargs)

        def serialize(self, serializer: Any) -> None:
            super().serialize(serializer)
            for name, value in self.module.named_buffers():
                serializer(name.replace(".", "/"), value.numpy())

    return TorchLink


def _place(owner: Any, path: list[str], parameter: Any, chain: type) -> None:
    """Registers a parameter under a dotted path, with chains in between."""
    *parents, name = path
    for part in parents:
        part = f"_{part}" if part.isdigit() else part
        if part not in owner._children:
            with owner.init_scope():
                setattr(owner, part, chain())
        owner = owner[part]
    with owner.init_scope():
        setattr(owner, name, parameter)


def as_chainer_link(module: torch.nn.Module) -> Any:
    """A `chainer.Chain` that owns a torch module.

    Its parameters are the module's, on the same memory, under the same names (a number gets an underscore before it):
    Chainer's optimizers train them, its serializers save them and the buffers, `namedparams` lists them. A call runs
    the module as one node of the graph, with gradients of any order, in train mode as `chainer.config.train` says.
    TypeError where `module` is no torch module.
    """
    check_module(module, "as_chainer_link")
    return _link_class()(module)


@functools.cache
def _block_class() -> type:
    from compatgrad.mxnet import autograd, gluon, nd

    class TorchBlock(gluon.Block):
        """A torch module as a block: its parameters are this block's, on the same memory."""

        def __init__(self, module: torch.nn.Module, prefix: str | None = None, params: Any = None) -> None:
            super().__init__(prefix=prefix, params=params)
            self.module = module
            self._pairs = []
            for path, parameter in module.named_parameters():
                name = path.replace(".", "_")
                own = self.params.get(name, shape=tuple(parameter.shape), dtype=_numpy_name(parameter.dtype),
                                      grad_req="write" if parameter.requires_grad else "null")  # fmt: skip
                if own._data is None:  # else the block shares another one's parameters
                    own.initialize(init="zeros")
                    own.set_data(nd.NDArray(parameter.detach()))
                parameter.data = own.data().tensor
                self._reg_params[name] = own
                self._pairs.append((own, parameter))

        def forward(self, *args: Any) -> Any:
            self.module.train(autograd.is_training())
            pairs = []
            for own, parameter in self._pairs:
                data = own.data()
                follow(parameter, data.tensor)
                if parameter.requires_grad:
                    pairs.append((data, parameter))
            return call_with(self.module, pairs, args, {})

    return TorchBlock


def _numpy_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def as_gluon_block(module: torch.nn.Module, prefix: str | None = None) -> Any:
    """A `gluon.Block` that owns a torch module.

    Its parameters are the module's, on the same memory, under their names with underscores: a Trainer trains them,
    `save_parameters` saves them. A call runs the module as one node of the graph, with gradients of any order, in train
    mode as `autograd` says. TypeError where `module` is no torch module.
    """
    check_module(module, "as_gluon_block")
    return _block_class()(module, prefix=prefix)


def follow(parameter: torch.Tensor, data: torch.Tensor) -> None:
    """Where a parameter of a framework was given other memory, the module's has it too."""
    if data.data_ptr() != parameter.data_ptr():
        parameter.data = data


def check_module(module: Any, who: str) -> None:
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{who}: module: expected a torch.nn.Module, got {type(module).__name__}")
