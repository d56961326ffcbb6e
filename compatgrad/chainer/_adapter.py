"""Chainer's adapter: describes Chainer's Variables, parameters and modes to code that mixes frameworks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer._torch_weights import weights
from compatgrad.chainer._traced_array import shapes_only
from compatgrad.chainer.variable import Parameter, Variable
from compatgrad.core.adapters import FRONTENDS, Adapter, Buffer
from compatgrad.core.configuration import using_modes
from compatgrad.core.entering import let_in
from compatgrad.core.torch_weights import Weights


class _Chainer(Adapter):
    name = "chainer"
    variable_class = Variable
    training_mode = "train"
    separator = "/"

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        v = Variable.__new__(Variable)
        v.tensor = t
        v._set_requires_grad(requires_grad)
        return v

    def modes(self, training: bool, record: bool = True) -> using_modes:
        return using_modes(enable_backprop=record, train=training)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        for path, parameter in sorted(target.namedparams()) if hasattr(target, "namedparams") else ():
            yield path.strip("/").replace("/", "."), parameter

    def buffers(self, target: Any) -> Iterable[Buffer]:
        for path, link in sorted(target.namedlinks()) if hasattr(target, "namedlinks") else ():
            for name in sorted(link._persistent):
                if isinstance(getattr(link, name), np.ndarray):
                    dotted = f"{path}/{name}".strip("/").replace("/", ".")
                    own = (link, name)
                    yield Buffer(dotted, *(partial(f, *own) for f in (_array, _set_array, _array_address)))

    def tracing(self) -> contextlib.AbstractContextManager[None]:
        return shapes_only()

    def torch_weights(self, shapes: Mapping[str, tuple[int, ...]]) -> Weights:
        return weights(shapes)

    def is_parameter(self, variable: Any) -> bool:
        return isinstance(variable, Parameter)


def _array(link: Any, name: str) -> torch.Tensor:
    return torch.from_numpy(getattr(link, name))


def _set_array(link: Any, name: str, t: torch.Tensor) -> None:
    setattr(link, name, t.numpy())


def _array_address(link: Any, name: str) -> int:
    return getattr(link, name).__array_interface__["data"][0]


FRONTENDS.register(_Chainer())
frontend.enter = let_in("chainer")
