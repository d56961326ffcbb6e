"""What mixed code needs to know of each frontend: its Variables, modes, gradients, parameters and names.

Each frontend registers an adapter of its own (`_adapter.py` in its package). The modules that draw, export and cross
ask `FRONTENDS` and name no framework.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from compatgrad.core.configuration import using_modes
from compatgrad.core.variable import Variable

__all__ = ["FRONTENDS", "Adapter", "Buffer", "frontend_of"]


class Buffer(NamedTuple):
    """A value that a link or a block keeps beside its parameters.

    Args:
        name: its name, with dots.
        read: gives the tensor on its memory.
        give: gives the value another tensor.
        address: where its memory is, which a tensor made while torch traces would not say.

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
    """What mixed code asks a frontend. This class gives the native API's answers; the adapters of the frontends, which
    `FRONTENDS` holds, replace those where theirs differ.

    Example:
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad.core.adapters import FRONTENDS
        >>> [name for name, parameter in FRONTENDS["chainer"].parameters(L.Linear(2, 3))]
        ['W', 'b']

    Source: `compatgrad/core/adapters.py`.
    """

    name = "compatgrad"
    variable_class: Any = Variable
    deferred = False  # whether its graphs get their values later
    training_mode = ""  # the engine's mode that tells its layers to train

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        """A leaf on the tensor's memory."""
        return Variable(t, requires_grad=requires_grad)

    def modes(self, training: bool, record: bool = True) -> using_modes:
        """With layers that train or predict, and with a graph or without."""
        return using_modes(enable_backprop=record)

    # grad(ys, xs, gradients as tensors, create_graph) -> (gradients, the latter as Variables), where the engine's own
    # does not do
    grad_of_tensors: Callable[..., tuple[list[Any], list[Any]]] | None = None

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        """The parameters of a link or a block: names with dots, and Variables."""
        return ()

    def trains(self, parameter: Any) -> bool:
        """Whether a parameter is one that optimizers move."""
        return bool(parameter.requires_grad)

    def buffers(self, target: Any) -> Iterable[Buffer]:
        """The values that a link or a block keeps beside its parameters."""
        return ()

    def operator(self, function: Any, inputs: Sequence[Any]) -> tuple[str, Mapping[str, Any]] | None:
        """The framework's own name of a function of the graph, and its arguments; None where it has none."""
        return None

    def parameter_names(self) -> Mapping[Any, str]:
        """Arrays of parameters that the framework registers by name -> their names."""
        return {}

    def is_parameter(self, variable: Any) -> bool:
        """Whether a Variable tells by itself that it is a parameter."""
        return False


class _Frontends(Mapping[str, Adapter]):
    """Adapters by name. Asking for a frontend that is not loaded imports its package, which registers it."""

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
        Its adapter; that of native Variables for an object of no frontend.

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
