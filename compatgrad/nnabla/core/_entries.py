"""Variables and functions of network definitions, which refer to each other by name, as in nnabla's files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..utils import nnabla_pb2
from ..variable import Variable

__all__ = ["NetworkVariable", "ProtoFunction"]


class NetworkVariable:
    """A variable of a network definition: `type` is "Buffer" or "Parameter", `shape` may have -1 for the batch.
    `parent` is the name of the function whose output it is, `required` the names of those whose input it is. Once the
    network is built, `variable_instance` is the Variable.
    """

    def __init__(
        self, shape: Iterable[int], name: str | None = None, need_grad: bool = False, var_type: str = "Buffer"
    ) -> None:
        self.shape = tuple(shape)
        self.name = name
        self.need_grad = need_grad
        self.type = var_type
        self.parent: str | None = None
        self.required: list[str] = []
        self.initializer: Callable[..., np.ndarray] | None = None
        self.variable_instance: Variable | None = None
        self.stop = False

    @property
    def proto(self) -> Any:
        """The protocol buffer message of this variable."""
        message = nnabla_pb2.Variable(name=self.name, type=self.type)
        message.shape.SetInParent()
        message.shape.dim.extend(int(n) for n in self.shape)
        return message


class ProtoFunction:
    """A function of a network definition: its type, the names of its inputs and outputs, and its arguments.

    Args:
        func: the function's message, or None.
        f_type: the type, such as "ReLU".
        args: the arguments by their names.
        name: the function's name; None: that of the type.
        owner: the network that it belongs to.

    Attributes:
        inputs: the names of its input variables.
        outputs: the names of its output variables.
        function_instance: the function in the graph, once the network is built.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> made = graph_def.create_graph_from_variable("net", F.elu(nn.Variable((2, 3)), alpha=0.5))
        >>> elu = made["net"].functions["@net/ELU"]
        >>> elu.type, elu.args, elu.inputs
        ('ELU', {'alpha': 0.5}, ['@net/ELU_in'])

    Source: `nnabla.core.graph_def.ProtoFunction` of nnabla 1.39.0.
    """

    def __init__(
        self, func: Any, f_type: str, args: dict[str, Any], name: str | None = None, owner: Any = None
    ) -> None:
        self.func = func
        self.type = f_type
        self.name = f_type if name is None else name
        self.args = args
        self.owner = owner
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.function_instance: Any = None

    @property
    def proto(self) -> Any:
        """The protocol buffer message of this variable. Raises ValueError for a type that files cannot hold."""
        message = nnabla_pb2.Function(name=self.name, type=self.type, input=self.inputs, output=self.outputs)
        field = nnabla_pb2.function_field(self.type)
        if field is not None:
            _write_arguments(getattr(message, field), self.args)
        elif self.args:
            raise ValueError(f"function {self.name!r}: files cannot hold functions of type {self.type!r}")
        return message

    def __getitem__(self, name: str) -> Any:
        """An attribute by name: "inputs", "outputs", "type", "args", ..."""
        return getattr(self, name)

    def clone(self, owner: Any = None) -> ProtoFunction:
        """A copy that can be changed independently."""
        other = ProtoFunction(self.func, self.type, dict(self.args), self.name, owner)
        other.inputs, other.outputs = list(self.inputs), list(self.outputs)
        return other

    @staticmethod
    def from_proto(message: Any) -> ProtoFunction:
        """Makes a ProtoFunction from a Function message."""
        field = nnabla_pb2.function_field(message.type)
        args = {} if field is None else _read_arguments(getattr(message, field))
        function = ProtoFunction(None, message.type, args, message.name)
        function.inputs, function.outputs = list(message.input), list(message.output)
        return function


def _write_arguments(message: Any, args: Mapping[str, Any]) -> None:
    message.SetInParent()
    for name, field in message._fields.items():
        value = args.get(name)
        if value is None or field.kind == "Communicator":
            continue
        if field.kind == "Shape":
            getattr(message, name).SetInParent()
            getattr(message, name).dim.extend(int(n) for n in value)
        elif field.many:
            getattr(message, name).extend(value)
        else:
            setattr(message, name, int(value) if field.kind == "int64" else value)


def _read_arguments(message: Any) -> dict[str, Any]:
    args = {}
    for name, field in message._fields.items():
        value = getattr(message, name)
        if field.kind == "Shape":
            args[name] = list(value.dim)
        elif field.kind != "Communicator":
            args[name] = list(value) if field.many else value
    return args
