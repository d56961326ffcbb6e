"""Links, blocks and functions of the frontends as torch modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from compatgrad import _C
from compatgrad.interop._frontends import FRONTENDS, Native, frontend_of

__all__ = ["TorchModule", "as_torch_module"]


class _Graph:
    """A piece of the engine's graph between `inputs` and `outputs`, which torch sees as one function."""

    def __init__(self, frontend: Native) -> None:
        self.frontend = frontend
        self.inputs: Sequence[Any] = ()
        self.outputs: Sequence[Any] = ()

    def build(self, tensors: Sequence[torch.Tensor], needs: Sequence[bool]) -> None:
        """Sets `inputs`, one Variable per tensor, and `outputs`."""
        raise NotImplementedError


class _GradientGraph(_Graph):
    """The gradient of a graph by some of its inputs, as a graph of its inputs and of its outputs' gradients."""

    def __init__(self, of: _Graph, ys: Sequence[int], xs: Sequence[int]) -> None:
        super().__init__(of.frontend)
        self.of, self.ys, self.xs = of, ys, xs

    def build(self, tensors: Sequence[torch.Tensor], needs: Sequence[bool]) -> None:
        of, n = self.of, len(self.of.inputs)
        again = any(needs)
        gys = [self.frontend.variable(t.detach(), again) for t in tensors[n:]]
        targets = [of.inputs[i] for i in self.xs]
        found = self.frontend.grad([of.outputs[j] for j in self.ys], targets, gys, again)
        self.inputs = (*of.inputs, *gys)
        self.outputs = [
            self.frontend.variable(torch.zeros_like(x.tensor), False) if g is None else g
            for g, x in zip(found, targets, strict=True)
        ]


def _tensor(y: Any) -> torch.Tensor:
    return y.data.tensor if isinstance(y, _C.DeferredVariable) else y.tensor


class _Node(torch.autograd.Function):
    """One graph as a function of torch's. Its backward is such a function as well, so any order follows."""

    @staticmethod
    def forward(ctx: Any, graph: _Graph, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        graph.build(tensors, ctx.needs_input_grad[1:])
        ctx.graph = graph
        ctx.save_for_backward(*tensors)  # torch notices where a tensor was written to meanwhile
        ctx.set_materialize_grads(False)
        ys = tuple(_tensor(y).detach() for y in graph.outputs)
        ctx.mark_non_differentiable(*(y for y in ys if not (y.is_floating_point() or y.is_complex())))
        return ys

    @staticmethod
    def backward(ctx: Any, *gys: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        given = [j for j, g in enumerate(gys) if g is not None]
        wanted = [i for i, w in enumerate(ctx.needs_input_grad[1:]) if w]
        result: list[torch.Tensor | None] = [None] * len(ctx.needs_input_grad)
        if given and wanted:
            graph = _GradientGraph(ctx.graph, given, wanted)
            found = _Node.apply(graph, *ctx.saved_tensors, *(gys[j] for j in given))
            for i, g in zip(wanted, found, strict=True):
                result[i + 1] = g
        return tuple(result)


class _Call(_Graph):
    """A call of the target on its inputs and parameters."""

    def __init__(self, frontend: Native, run: Callable[..., Any], parameters: Sequence[Any]) -> None:
        super().__init__(frontend)
        self.run, self.parameters = run, parameters
        self.several: type | None = None

    def build(self, tensors: Sequence[torch.Tensor], needs: Sequence[bool]) -> None:
        n = len(tensors) - len(self.parameters)
        xs = [self.frontend.variable(t.detach(), need) for t, need in zip(tensors[:n], needs, strict=False)]
        result = self.run(xs)
        self.several = type(result) if isinstance(result, (tuple, list)) else None
        ys = list(result) if self.several else [result]
        for j, y in enumerate(ys):
            if not isinstance(y, _C.Variable):
                raise TypeError(f"as_torch_module: output {j}: expected a Variable, got {type(y).__name__}")
        self.inputs, self.outputs = (*xs, *self.parameters), ys


class TorchModule(torch.nn.Module):
    """A legacy network as a torch module; `as_torch_module` makes it."""

    def __init__(self, target: Callable[..., Any], frontend: Native, parameters: Sequence[tuple[str, Any]]) -> None:
        super().__init__()
        self._target, self._legacy_frontend = target, frontend
        self._legacy = []
        for name, variable in parameters:
            t = _tensor(variable)
            if t is None:
                raise ValueError(
                    f"as_torch_module: parameter {name} has no value yet: call the network once, or pass example_inputs"
                )
            parameter = torch.nn.Parameter(t.detach(), requires_grad=t.is_floating_point())
            owner, _, own = name.rpartition(".")
            place = _submodule(self, owner)
            place.register_parameter(own, parameter)
            self._legacy.append((variable, place, own))
        for name, t in frontend.buffers(target):
            owner, _, own = name.rpartition(".")
            _submodule(self, owner).register_buffer(own, t)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The network's result, tensors in the places of Variables. Other arguments are passed on."""
        places = [k for k, a in enumerate(args) if isinstance(a, torch.Tensor)]
        names = [k for k, a in kwargs.items() if isinstance(a, torch.Tensor)]

        def run(xs: Sequence[Any]) -> Any:
            values, named = list(args), dict(kwargs)
            for k, x in zip(places, xs, strict=False):
                values[k] = x
            named.update(zip(names, xs[len(places) :], strict=True))
            with frontend.modes(self.training):
                return self._target(*values, **named)

        frontend = self._legacy_frontend
        held = [place._parameters[name] for _, place, name in self._legacy]  # functional_call puts others there
        for (variable, _, _), parameter in zip(self._legacy, held, strict=True):
            if _tensor(variable).data_ptr() != parameter.data_ptr():  # one was given other memory: torch's counts
                _give(variable, parameter.detach())
        call = _Call(frontend, run, [v for v, _, _ in self._legacy])
        tensors = [*(args[k] for k in places), *(kwargs[k] for k in names), *held]
        ys = _Node.apply(call, *tensors)
        return ys[0] if call.several is None else call.several(ys)

    def extra_repr(self) -> str:
        return f"{type(self._target).__name__} of {self._legacy_frontend.name}"


def _give(variable: Any, t: torch.Tensor) -> None:
    if isinstance(variable, _C.DeferredVariable):
        variable.data.tensor = t
    else:
        _C.replace_leaf(variable, t)


def _submodule(module: torch.nn.Module, path: str) -> torch.nn.Module:
    for name in path.split(".") if path else ():
        child = module._modules.get(name)
        if child is None:
            child = torch.nn.Module()
            module.add_module(name, child)
        module = child
    return module


def as_torch_module(
    target: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    frontend: str | None = None,
    example_inputs: Sequence[Any] = (),
) -> TorchModule:
    """A torch module that runs `target`: a Chainer link, a Gluon block, or a function of Variables.

    Its parameters are torch Parameters on the very memory of the legacy ones, under their names with dots, and its
    buffers are the running statistics; so a torch optimizer trains the network, `state_dict` saves it, and the legacy
    code sees every step. It can be differentiated any number of times. `train()` and `eval()` rule what layers do.

    parameters: of a function, the Variables that it holds, by name (nnabla: `nn.get_parameters()`). frontend: of a
    function, "chainer", "nnabla", "mxnet" or "compatgrad", whose Variables it takes; by its parameters unless given.
    example_inputs: tensors on which the network is called once first, where its parameters get their shapes from data.
    TypeError where `target` is not callable; ValueError for an unknown frontend or a parameter without a value.
    """
    if not callable(target):
        raise TypeError(f"as_torch_module: target: expected a link, a block or a function, got {type(target).__name__}")
    if frontend is not None:
        if frontend not in FRONTENDS:
            raise ValueError(f"as_torch_module: frontend: expected one of {', '.join(FRONTENDS)}, got {frontend!r}")
        own = FRONTENDS[frontend]
    else:
        own = frontend_of(next(iter(parameters.values())) if parameters else target)
    if example_inputs:
        with own.modes(False):
            target(*(own.variable(t.detach(), False) if isinstance(t, torch.Tensor) else t for t in example_inputs))
    given = own.parameters(target) if parameters is None else parameters.items()
    return TorchModule(target, own, [(name.replace("/", "."), p) for name, p in given])
