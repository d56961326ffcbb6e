"""Expands the repetitions of networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....core import _repeats
from ... import nnabla_pb2

__all__ = ["NnpExpander"]


def _plain(name: str) -> str:
    return name.replace("[", "_").replace("]", "")


class NnpExpander:
    """Expands the repeated parts of the networks in an NNablaProtoBuf message. Functions and their outputs get the
    number of the round in their names, ``name_Repeat_0``; parameters keep the names in the file.

    Args:
        nnp: the message, which is not changed.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.utils.converter.nnabla import NnpExpander, NnpImporter
        >>> with graph_def.graph(name="net") as graph:
        ...     y = PF.affine(graph_def.ProtoVariable((2, 3), name="x"), 4, name="fc")
        >>> run = {"name": "run", "network": "net", "data": ["x"], "output": graph.networks["net"].outputs}
        >>> graph_def.save("net.nnp", [graph], executors=[run])
        >>> message = NnpImporter("net.nnp", expand_network=False).execute().protobuf
        >>> [f.type for f in NnpExpander(message).execute().network[0].function]
        ['Affine']

    Source: `nnabla.utils.converter.nnabla.NnpExpander` of nnabla 1.39.0.
    """

    def __init__(self, nnp: Any) -> None:
        self._nnp = nnp

    def execute(self) -> Any:
        """The new message."""
        result = nnabla_pb2.NNablaProtoBuf()
        result.CopyFrom(self._nnp)
        result.ClearField("network")
        names: dict[str, list[str]] = {}
        for network in self._nnp.network:
            names.update(_repeats.names_in_rounds(network))
            result.network.add().CopyFrom(self._expanded(network))
        for part in (*result.optimizer, *result.executor):
            _expand_parameters(part, names)
        return result

    @staticmethod
    def _expanded(network: Any) -> Any:
        if not network.repeat_info:
            return network
        whole = _repeats.expanded(network)
        # functions that only pass a value from one round to the next are left out
        origin: dict[str, str] = {}
        for function in whole.function:
            if function.name.startswith("$EC$/"):
                origin[function.output[0]] = origin.get(function.input[0], function.input[0])
        parameters = {v.name for v in whole.variable if v.type == "Parameter"}

        def renamed(name: str) -> str:
            while name in origin:
                name = origin[name]
            return name if name in parameters else _plain(name)

        result = nnabla_pb2.Network(name=whole.name, batch_size=whole.batch_size)
        for variable in whole.variable:
            if variable.name not in origin:
                made = result.variable.add()
                made.CopyFrom(variable)
                made.name = renamed(variable.name)
        functions = []
        for function in whole.function:
            if not function.name.startswith("$EC$/"):
                function.name = _plain(function.name)
                function.input[:] = [renamed(name) for name in function.input]
                function.output[:] = [renamed(name) for name in function.output]
                functions.append(function)
        for function in _in_order(functions):
            result.function.add().CopyFrom(function)
        return result


def _in_order(functions: list[Any]) -> Iterator[Any]:
    """Yields the functions in topological order."""
    waiting = list(functions)
    coming = {name for f in waiting for name in f.output}
    while waiting:
        rest = []
        for function in waiting:
            if coming.isdisjoint(function.input):
                coming.difference_update(function.output)
                yield function
            else:
                rest.append(function)
        if len(rest) == len(waiting):
            raise ValueError(f"functions depend on their own outputs: {', '.join(f.name for f in rest)}")
        waiting = rest


def _expand_parameters(part: Any, names: dict[str, list[str]]) -> None:
    """Lists the parameters of all rounds in an optimizer or executor."""
    old = list(part.parameter_variable)
    part.ClearField("parameter_variable")
    for entry in old:
        for name in names.get(entry.variable_name, [entry.variable_name]):
            made = part.parameter_variable.add()
            made.CopyFrom(entry)
            made.variable_name = name
