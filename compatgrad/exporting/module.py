"""Links, blocks and functions of the frontends as torch modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from compatgrad import _C
from compatgrad.core import bridge, foreign
from compatgrad.core.adapters import FRONTENDS, Adapter, frontend_of
from compatgrad.core.crossing import refuse_transforms
from compatgrad.core.shared_memory import note_shared

__all__ = ["TorchModule", "as_torch_module"]


def _tensor(y: Any) -> torch.Tensor:
    tensor: torch.Tensor = y.data.tensor if isinstance(y, _C.DeferredVariable) else y.tensor
    return tensor


def _give(variable: Any, t: torch.Tensor) -> None:
    if isinstance(variable, _C.DeferredVariable):
        variable.data.tensor = t
    else:
        _C.replace_leaf(variable, t)


class TorchModule(torch.nn.Module):
    """A frontend's network as a torch module; `as_torch_module` makes it.

    Args:
        target: the link, block or function.
        frontend: adapter of the frontend to which it belongs.
        parameters: pairs of a dotted name and a Variable.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad import interop
        >>> interop.as_torch_module(L.Linear(3, 2))(torch.ones(4, 3)).shape
        torch.Size([4, 2])

    Source: `compatgrad/exporting/module.py`.
    """

    def __init__(self, target: Callable[..., Any], frontend: Adapter, parameters: Sequence[tuple[str, Any]]) -> None:
        super().__init__()
        self._target, self._legacy_frontend = target, frontend
        self._legacy: list[tuple[Any, Any, str]] = []  # Variable, the module that owns its parameter, its name there
        known: dict[int, torch.nn.Parameter] = {}  # layers may share a parameter
        for name, variable in parameters:
            owner, _, own = name.rpartition(".")
            place = _submodule(self, owner)
            if isinstance(variable, torch.nn.Parameter):  # a parameter of a torch module inside
                place.register_parameter(own, variable)
                continue
            t = _tensor(variable)
            if t is None:
                raise ValueError(
                    f"as_torch_module: parameter {name} has no value yet: call the network once, or pass example_inputs"
                )
            if id(variable) not in known:
                trained = t.is_floating_point() and frontend.trains(variable)
                known[id(variable)] = torch.nn.Parameter(t.detach(), requires_grad=trained)
                note_shared(t)
            place.register_parameter(own, known[id(variable)])
            self._legacy.append((variable, place, own))
        self._legacy_buffers = []
        for buffer in frontend.buffers(target):
            owner, _, own = buffer.name.rpartition(".")
            place = _submodule(self, owner)
            t = buffer.read()
            place.register_buffer(own, t)
            note_shared(t)
            self._legacy_buffers.append((buffer, place, own))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The network's result with Variables replaced by tensors, also inside tuples, lists and dicts."""
        refuse_transforms("as_torch_module")
        if torch._C._is_any_autocast_enabled():  # the frontend's code computes in its own dtypes
            first = next((a for a in args if isinstance(a, torch.Tensor)), None)
            device = "cpu" if first is None else first.device.type
            if torch.is_autocast_enabled(device):
                with torch.autocast(device, enabled=False):
                    args, kwargs = _pytree.tree_map_only(torch.Tensor, self._in_own_dtype, (args, kwargs))
                    return self.forward(*args, **kwargs)
        frontend, record = self._legacy_frontend, torch.is_grad_enabled()
        plain = not kwargs and all(isinstance(a, torch.Tensor) for a in args)
        flat, structure = (list(args), None) if plain else _pytree.tree_flatten((args, kwargs))
        variables, tensors = self._parameters_in_place()
        for k, t in enumerate(flat):
            if isinstance(t, torch.Tensor):
                flat[k] = x = frontend.variable(t.detach(), record and t.requires_grad)
                variables.append(x)
                tensors.append(t)
        args, kwargs = (flat, {}) if structure is None else _pytree.tree_unflatten(flat, structure)
        with frontend.modes(self.training, record):
            result = self._target(*args, **kwargs)
        if isinstance(result, _C.Variable):
            return self._left([self._at_once(result)], variables, tensors, record)[0]
        flat, structure = _pytree.tree_flatten(result)
        places = [k for k, y in enumerate(flat) if isinstance(y, _C.Variable)]
        if not places:
            raise TypeError(f"as_torch_module: output: expected a Variable, got {type(result).__name__}")
        ys = self._left([self._at_once(flat[k]) for k in places], variables, tensors, record)
        for k, y in zip(places, ys, strict=True):
            flat[k] = y
        return _pytree.tree_unflatten(flat, structure)

    def _parameters_in_place(self) -> tuple[list[Any], list[torch.Tensor]]:
        """The frontend's parameters, and torch's. If one was assigned other memory, torch's parameter is used; likewise
        for buffers."""
        variables, tensors = [], []
        for variable, place, name in self._legacy:
            parameter = place._parameters.get(name)
            if parameter is None:  # replaced by a parametrization
                parameter = getattr(place, name)
            if type(parameter) is not torch.nn.Parameter:
                _refuse_fake(parameter)
            if _tensor(variable).data_ptr() != parameter.data_ptr():
                _give(variable, parameter.detach())
            variables.append(variable)
            tensors.append(parameter)
        for buffer, place, name in self._legacy_buffers:
            t = getattr(place, name)
            if type(t) is torch.Tensor and buffer.address() != t.data_ptr():  # a tracer's tensor has no address
                buffer.give(t)
        return variables, tensors

    def _in_own_dtype(self, t: torch.Tensor) -> torch.Tensor:
        """`t`, converted to the parameters' dtype if a layer under autocast has returned a narrower one."""
        if t.dtype not in (torch.float16, torch.bfloat16):
            return t
        return t.to(next((p.dtype for p in self.parameters() if p.is_floating_point()), torch.float32))

    def _at_once(self, y: Any) -> Any:
        """`y`; an nnabla result in a function of another frontend is computed here."""
        frontend = self._legacy_frontend
        if not isinstance(y, _C.DeferredVariable) or frontend.deferred:
            return y
        with frontend.modes(self.training):
            return bridge.leave(y, frontend.variable_class._frontend)

    def _left(
        self, ys: list[Any], variables: list[Any], tensors: list[torch.Tensor], record: bool
    ) -> list[torch.Tensor]:
        if not record:
            return [_tensor(y) for y in ys]
        return _C.torch_leave(ys[0]._frontend, ys, variables, tensors, self._legacy_frontend.grad_of_tensors)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a copy, in which the frontend's copies of parameters may be constants."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]  # torch's has no types
        for variable, place, name in self._legacy:
            parameter = place._parameters.get(name)
            if parameter is not None and parameter.requires_grad and not isinstance(variable, _C.DeferredVariable):
                variable._set_requires_grad(True)

    def extra_repr(self) -> str:
        return f"{type(self._target).__name__} of {self._legacy_frontend.name}"


def _refuse_fake(parameter: torch.Tensor) -> None:
    from torch._subclasses.fake_tensor import FakeTensor

    if isinstance(parameter, FakeTensor):
        raise NotImplementedError(
            "as_torch_module: torch's tracers cannot trace parameters of the engine's graph: trace with "
            "compatgrad.interop.export, whose graph torch.export takes, or with compatgrad.interop.compile"
        )


def _submodule(module: torch.nn.Module, path: str) -> torch.nn.Module:
    for name in path.split(".") if path else ():
        child = module._modules.get(name)
        if child is None:
            child = torch.nn.Module()
            if hasattr(module, name):  # a scope may have the name of a method, such as `double`
                module._modules[name] = child
            else:
                module.add_module(name, child)
        module = child
    return module


def _holders(target: Any) -> Iterator[Any]:
    """The links and blocks of which a network consists: a run may set their attributes (the state of a recurrent
    link)."""
    if isinstance(target, torch.nn.Module):
        for module in target.modules():
            if (inner := module.__dict__.get("_target")) is not None:
                yield from _holders(inner)
    elif hasattr(target, "links") and hasattr(target, "namedparams"):
        yield from target.links()
    elif hasattr(target, "_collect_params_with_prefix"):
        todo = [target]
        while todo:
            block = todo.pop()
            yield block
            todo += block._children.values()


def as_torch_module(
    target: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    frontend: str | None = None,
    example_inputs: Sequence[Any] = (),
) -> TorchModule:
    """Makes a torch module that runs a Chainer link, a Gluon block, or a function of Variables. Its parameters are
    torch Parameters that share memory with the frontend's parameters, under their dotted names, and its buffers are the
    running statistics; so a torch optimizer trains the network, `state_dict` saves it, and the frontend's code sees
    every step. It can be differentiated any number of times. `train()` and `eval()` set the mode of its layers.

    Args:
        target: the link, block or function.
        parameters: for a function, the Variables that it uses, by name (nnabla: `nn.get_parameters()`).
        frontend: for a function, the frontend whose Variables it takes: "chainer", "nnabla", "mxnet" or "compatgrad";
            None is that of its parameters.
        example_inputs: tensors on which the network is called once first, if its parameters get their shapes from data.

    Returns:
        The module.

    Raises:
        TypeError: `target` is not callable or is a torch module, or `parameters` contains other objects than Variables.
        ValueError: `frontend` is unknown, or a parameter has no value.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad import interop
        >>> net = interop.as_torch_module(L.Linear(3, 2))
        >>> sorted(name for name, _ in net.named_parameters())
        ['W', 'b']
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.b.grad
        tensor([4., 4.])

    Source: `compatgrad/exporting/module.py`.
    """
    if not callable(target):
        raise TypeError(f"as_torch_module: target: expected a link, a block or a function, got {type(target).__name__}")
    if isinstance(target, torch.nn.Module):
        raise TypeError(f"as_torch_module: target: {type(target).__name__} is a torch module already")
    if parameters is not None:
        if not isinstance(parameters, Mapping):
            kind = type(parameters).__name__
            raise TypeError(f"as_torch_module: parameters: expected a dict from names to Variables, got {kind}")
        for name, p in parameters.items():
            if not isinstance(p, (_C.Variable, torch.nn.Parameter)):
                raise TypeError(f"as_torch_module: parameters[{name!r}]: expected a Variable, got {type(p).__name__}")
    if frontend is not None:
        if frontend not in FRONTENDS:
            raise ValueError(f"as_torch_module: frontend: expected one of {', '.join(FRONTENDS)}, got {frontend!r}")
        own = FRONTENDS[frontend]
    else:
        own = frontend_of(next(iter(parameters.values())) if parameters else target)
    if example_inputs:
        with own.modes(False, False):
            target(*(own.variable(t.detach(), False) if isinstance(t, torch.Tensor) else t for t in example_inputs))
    given = own.parameters(target) if parameters is None else parameters.items()
    module = TorchModule(target, own, [(name.replace("/", "."), p) for name, p in given])
    effect = "get gradients, but are not in the torch module's parameters() and state_dict()"
    for holder in _holders(target):
        foreign.warn_of(holder, own.name, module.parameters(), effect)
    return module
