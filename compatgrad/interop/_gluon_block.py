"""The block that `as_gluon_block` returns."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.shared_memory import note_shared
from compatgrad.core.torch_call import call_with
from compatgrad.interop._torch_modules import follow
from compatgrad.mxnet import autograd, gluon


def _first_values(name: str) -> str:
    """What `initialize(force_reinit=True)` gives to a buffer; MXNet's initializers know only names of its own."""
    return "ones" if name.endswith("running_var") else "zeros"


class TorchBlock(gluon.Block):
    """A torch module as a block, whose parameters and buffers share memory with the module's."""

    module: torch.nn.Module
    _not_hybrid = (
        " A torch module has no symbols for hybridize and export: use gluon.Block and nn.Sequential for the networks "
        "that contain it, whose other blocks may be hybrid"
    )

    def __init__(self, module: torch.nn.Module, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.__dict__["module"] = module  # not by __setattr__, which would report the module
        self._pairs = [(self._own(path, p, p.requires_grad), p) for path, p in module.named_parameters()]
        state = module.state_dict()
        self._kept = [(self._own(path, t, False), t) for path, t in module.named_buffers() if path in state]

    def _own(self, path: str, t: torch.Tensor, trained: bool) -> Any:
        """The block's Parameter for a parameter or a buffer of the module; a number has the shape (1,), because MXNet
        takes () for a shape that is still unknown."""
        name, shape = path.replace(".", "_"), tuple(t.shape) or (1,)
        options: dict[str, Any] = {} if isinstance(t, torch.nn.Parameter) else {"init": _first_values(name)}
        own = self.params.get(name, shape=shape, dtype=str(t.dtype).removeprefix("torch."),
                              grad_req="write" if trained else "null", **options)  # fmt: skip
        if own._data is None:  # otherwise the block shares the parameters of another block
            own.initialize(init="zeros")
            _C.replace_leaf(own.data(), t.detach().view(shape))
            note_shared(t.detach())
        follow(t, own.data().tensor.view(t.shape))
        self._reg_params[name] = own
        return own

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.module})"

    def cast(self, dtype: Any) -> None:
        """Changes the dtype of the parameters and buffers that contain floating-point numbers."""
        for own, t in (*self._pairs, *self._kept):
            if t.is_floating_point():
                own.cast(dtype)

    def forward(self, *args: Any) -> Any:
        self.module.train(autograd.is_training())
        pairs = []
        for own, parameter in self._pairs:
            data = own.data()
            follow(parameter, data.tensor)
            if parameter.requires_grad:
                pairs.append((data, parameter))
        for own, t in self._kept:
            follow(t, own.data().tensor.view(t.shape))
        return call_with(self.module, pairs, args, {})
