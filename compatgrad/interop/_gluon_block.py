"""The block that `as_gluon_block` returns."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad.core.torch_call import call_with
from compatgrad.interop._torch_modules import follow
from compatgrad.mxnet import autograd, gluon, nd


class TorchBlock(gluon.Block):
    """A torch module as a block, whose parameters share memory with the module's."""

    def __init__(self, module: torch.nn.Module, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.module = module
        self._pairs = []
        for path, parameter in module.named_parameters():
            name = path.replace(".", "_")
            own = self.params.get(name, shape=tuple(parameter.shape), dtype=str(parameter.dtype).removeprefix("torch."),
                                  grad_req="write" if parameter.requires_grad else "null")  # fmt: skip
            if own._data is None:  # otherwise the block shares the parameters of another block
                own.initialize(init="zeros")
                own.set_data(nd.NDArray(parameter.detach()))
            follow(parameter, own.data().tensor)
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
