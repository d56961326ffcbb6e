"""nnabla's adapter: describes nnabla's Variables, parameters and modes to code that mixes frameworks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.adapters import FRONTENDS, Adapter
from compatgrad.core.configuration import using_modes
from compatgrad.core.entering import let_in
from compatgrad.core.torch_weights import Weights
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla._op_names import info_of
from compatgrad.nnabla._torch_weights import weights
from compatgrad.nnabla.grad import grad
from compatgrad.nnabla.parameter import get_parameters
from compatgrad.nnabla.variable import Variable


class _NNabla(Adapter):
    name = "nnabla"
    variable_class = Variable
    deferred = True
    separator = "/"

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        v = Variable(tuple(t.shape), need_grad=requires_grad)
        v.data.tensor = t
        return v

    def modes(self, training: bool, record: bool = True) -> using_modes:
        return using_modes(auto_forward=True)

    def trains(self, parameter: Any) -> bool:
        return bool(parameter.need_grad) if isinstance(parameter, _C.DeferredVariable) else super().trains(parameter)

    def grad_of_tensors(
        self, ys: Sequence[Any], xs: Sequence[Any], gradients: Sequence[torch.Tensor], create_graph: bool
    ) -> tuple[list[Any], list[Any]]:
        gys = [self.variable(g, create_graph) for g in gradients]
        with using_modes(auto_forward=True):
            return grad(list(ys), list(xs), gys), gys

    def operator(self, function: Any, inputs: Sequence[Any]) -> tuple[str, Mapping[str, Any]] | None:
        info = info_of(function)
        return info.type_name, info.args

    def function_of(self, output: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        from compatgrad.nnabla.core import graph_def
        from compatgrad.nnabla.core.variable_batch_size import variable_batch_size

        network = graph_def.create_graph_from_variable("net", output, {f"x{k}": x for k, x in enumerate(inputs)})["net"]
        _cut(network, [f"x{k}" for k in range(len(inputs))])
        if more := set(network.inputs) ^ {f"x{k}" for k in range(len(inputs))}:
            raise ValueError(f"inputs: expected all {len(network.inputs)} inputs of the graph; {sorted(more)} differ")
        with contextlib.suppress(ValueError, KeyError):  # otherwise the graph is one of this batch size
            variable_batch_size(network)

        def net(*xs: Any) -> Any:
            given = dict(zip((f"x{k}" for k in range(len(xs))), xs, strict=True))
            return network(*(given[name] for name in network.inputs), batch_size=xs[0].shape[0])

        return net

    def torch_weights(self, shapes: Mapping[str, tuple[int, ...]]) -> Weights:
        return weights(shapes)

    def registered(self) -> Iterable[Any]:
        return get_parameters(grad_only=False).values()

    def parameter_names(self) -> Mapping[Any, str]:
        return {p.data: name for name, p in get_parameters(grad_only=False).items()}


def _cut(network: Any, inputs: Sequence[str]) -> None:
    """Removes what computes the inputs, from a network that computes them itself."""
    outputs = list(network.outputs)
    for name in inputs:
        if (parent := network.find(name).parent) is not None:
            del network.functions[parent]
    network.connect()
    needed, todo = set(), [*outputs, *inputs]
    functions = {f.name: f for f in network.functions.values()}
    while todo:
        name = todo.pop()
        if name in needed:
            continue
        needed.add(name)
        parent = network.find(name).parent
        if parent is not None:
            todo += [*functions[parent].inputs, *functions[parent].outputs]
    for name, f in list(network.functions.items()):
        if not set(f.outputs) <= needed:
            del network.functions[name]
    for name in [n for n in network.variables if n not in needed]:
        del network.variables[name]
    network.connect()


FRONTENDS.register(_NNabla())
fe.enter = let_in("nnabla")
