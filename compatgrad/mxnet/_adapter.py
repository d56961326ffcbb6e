"""Answers questions of code that mixes frameworks about MXNet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.adapters import FRONTENDS, Adapter, Buffer
from compatgrad.core.configuration import using_modes
from compatgrad.core.entering import let_in
from compatgrad.core.torch_weights import Weights

from ._engine_names import operator_name
from ._frontend import fe
from ._torch_weights import weights
from .ndarray.ndarray import NDArray
from .symbol._recorded import as_operator


class _MXNet(Adapter):
    name = "mxnet"
    variable_class = NDArray
    training_mode = "training"

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        x = NDArray(t)
        x._set_requires_grad(requires_grad)
        return x

    def modes(self, training: bool, record: bool = True) -> using_modes:
        return using_modes(recording=record, training=training)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        for name, parameter in _parameters(target):
            if parameter.grad_req != "null":
                yield name, parameter.data()

    def gradient_requests(self, target: Any) -> Sequence[str]:
        return [parameter.grad_req for _, parameter in _parameters(target)]

    def buffers(self, target: Any) -> Iterable[Buffer]:
        for name, parameter in _parameters(target):
            if parameter.grad_req == "null":
                data = parameter.data()
                give = partial(_C.replace_leaf, data)
                yield Buffer(name, partial(getattr, data, "tensor"), give, partial(_address, data))

    def operator(self, function: Any, inputs: Sequence[Any]) -> tuple[str, Mapping[str, Any]] | None:
        if hasattr(function, "label"):
            return None
        try:
            return as_operator(function, list(inputs))
        except (KeyError, IndexError, TypeError, ValueError):  # MXNet has no operator for this function
            return None

    def label(self, function: Any) -> str:
        return operator_name(function) or super().label(function)

    def torch_weights(self, shapes: Mapping[str, tuple[int, ...]]) -> Weights:
        return weights(shapes)

    def is_parameter(self, variable: Any) -> bool:
        return isinstance(variable, NDArray) and bool(variable.node.name)  # only parameters have names


def _address(v: Any) -> int:
    return v.tensor.data_ptr()


def _parameters(target: Any) -> Iterable[tuple[str, Any]]:
    return target._collect_params_with_prefix().items() if hasattr(target, "_collect_params_with_prefix") else ()


FRONTENDS.register(_MXNet())
fe.enter = let_in("mxnet")
