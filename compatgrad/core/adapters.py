"""What mixed code needs to know about each frontend: its Variables, modes, gradients, parameters and names.

Each frontend registers an adapter (`_adapter.py` in its package). Modules that draw, export and convert use `FRONTENDS`
and do not mention a framework.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from compatgrad.core.configuration import using_modes
from compatgrad.core.torch_weights import Weights
from compatgrad.core.variable import Variable

__all__ = ["FRONTENDS", "Adapter", "Buffer", "frontend_of"]


class Buffer(NamedTuple):
    """A value of a link or a block that is not a parameter.

    Args:
        name: its name, with dots.
        read: returns the tensor that shares its memory.
        give: assigns another tensor to the value.
        address: returns the address of its memory, which a tensor made under a tracer does not have.

    Example:
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad.core.adapters import frontend_of
        >>> link = L.BatchNormalization(2)
        >>> buffers = {buffer.name: buffer for buffer in frontend_of(link).buffers(link)}
        >>> buffers["avg_var"].read()
        tensor([1., 1.])

    Source: `compatgrad/core/adapters.py`.
    """

    name: str
    read: Callable[[], torch.Tensor]
    give: Callable[[torch.Tensor], object]
    address: Callable[[], int]


class Adapter:
    """The interface through which mixed code uses a frontend. The methods of this class are those of the native API;
    the adapters of the frontends, which are in `FRONTENDS`, override them where a frontend differs.

    Example:
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad.core.adapters import FRONTENDS
        >>> [name for name, parameter in FRONTENDS["chainer"].parameters(L.Linear(2, 3))]
        ['W', 'b']

    Source: `compatgrad/core/adapters.py`.
    """

    name = "compatgrad"
    variable_class: Any = Variable
    deferred = False  # whether its graphs are computed later
    training_mode = ""  # the engine's mode in which its layers train
    separator = "."  # between the parts of its names of parameters

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        """A leaf that shares the tensor's memory."""
        return Variable(t, requires_grad=requires_grad)

    def modes(self, training: bool, record: bool = True) -> using_modes:
        """A context with the modes for training or inference, with or without recording."""
        return using_modes(enable_backprop=record)

    # grad(ys, xs, gradients as tensors, create_graph) -> (gradients, the given gradients as Variables), if the engine's
    # `grad` cannot be used
    grad_of_tensors: Callable[..., tuple[list[Any], list[Any]]] | None = None

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        """The parameters of a link or a block: pairs of a dotted name and a Variable."""
        return ()

    def gradient_requests(self, target: Any) -> Sequence[str]:
        """What passes do with the gradients of a block's parameters, if this can be chosen."""
        return ()

    def trains(self, parameter: Any) -> bool:
        """Whether optimizers update a parameter."""
        return bool(parameter.requires_grad)

    def buffers(self, target: Any) -> Iterable[Buffer]:
        """The values of a link or a block that are not parameters."""
        return ()

    def operator(self, function: Any, inputs: Sequence[Any]) -> tuple[str, Mapping[str, Any]] | None:
        """The framework's name of a function of the graph, and its arguments; None if it has no name."""
        return None

    def label(self, function: Any) -> str:
        """The framework's short name of a function of the graph, for tables."""
        return str(getattr(function, "label", None) or function.op_name)

    def function_of(self, output: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        """A function of Variables that computes what the graph of `output` computes from `inputs`."""
        raise TypeError(f"{self.name} has no graphs that can be run again: expected a link, a block or a function")

    def tracing(self) -> contextlib.AbstractContextManager[None]:
        """A context in which a network runs on tensors without values, to be written as source."""
        return contextlib.nullcontext()

    def torch_weights(self, shapes: Mapping[str, tuple[int, ...]]) -> Weights:
        """Names and layouts of torch's layers for the parameters in a file, from their names and shapes."""
        raise ValueError(f"{self.name} has no parameter files")

    def registered(self) -> Iterable[Any]:
        """The parameters that the framework itself holds, by name, and not a link or a block."""
        return ()

    def parameter_names(self) -> Mapping[Any, str]:
        """A mapping from the arrays of parameters that the framework registers by name to these names."""
        return {}

    def is_parameter(self, variable: Any) -> bool:
        """Whether a Variable is a parameter by its class."""
        return False


class _Frontends(Mapping[str, Adapter]):
    """Adapters by name. A look-up of a frontend that is not loaded imports its package, which registers its adapter."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages
        self._loaded = {"compatgrad": Adapter()}

    def register(self, adapter: Adapter) -> None:
        """Called by a frontend, once, when it is imported."""
        self._loaded[adapter.name] = adapter

    def loaded(self) -> list[Adapter]:
        """The adapters of the frontends that the program has imported."""
        return list(self._loaded.values())

    def __getitem__(self, name: str) -> Adapter:
        if name not in self._loaded and name in self._packages:
            importlib.import_module(f"compatgrad.{name}")
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("compatgrad", *self._packages))

    def __len__(self) -> int:
        return 1 + len(self._packages)

    def __contains__(self, name: object) -> bool:
        return name == "compatgrad" or name in self._packages


FRONTENDS = _Frontends(("chainer", "mxnet", "nnabla"))


def frontend_of(target: Any) -> Adapter:
    """The frontend to which an object belongs.

    Args:
        target: a link, a block, a Variable, or anything else.

    Returns:
        Its adapter; for an object of no frontend the adapter of native Variables.

    Raises:
        TypeError: the argument is missing.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad.core.adapters import frontend_of
        >>> frontend_of(L.Linear(2, 3)).name, frontend_of(torch.nn.Linear(2, 3)).name
        ('chainer', 'compatgrad')

    Source: `compatgrad/core/adapters.py`.
    """
    for cls in type(target).__mro__:
        root = cls.__module__.removeprefix("compatgrad.").partition(".")[0]
        if root in FRONTENDS:
            return FRONTENDS[root]
    return FRONTENDS["compatgrad"]
