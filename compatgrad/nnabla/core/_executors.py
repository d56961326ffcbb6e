"""Executors in messages of files. An executor says which network to run, with which inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["add_executor", "add_generators", "network_of"]


def network_of(networks: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in networks:
        raise ValueError(f"save: {what} names the network {name!r}, but there is no such network")
    return networks[name]


def add_executor(proto: Any, networks: Mapping[str, Any], executor: Mapping[str, Any]) -> None:
    """Adds the description of an executor to a message.

    Args:
        proto: an `NNablaProtoBuf` message.
        networks: the networks in the message, by name.
        executor: a dict with "name", "network", "data" and "output" (lists of names of variables), and maybe
            "generator_variables", "remp" and others.

    Raises:
        KeyError: the description lacks an entry.
        ValueError: it names a network or a variable that does not exist.

    Example:
        >>> from compatgrad.nnabla.utils.save import add_executor, create_proto
        >>> from compatgrad.nnabla.core.graph_def import create_graph_from_variable
        >>> x = nn.Variable((2, 3))
        >>> y = F.relu(x)
        >>> graph = create_graph_from_variable("net", [y], {"x": x, "y": y})
        >>> proto = create_proto({})
        >>> add_executor(proto, graph.networks, {"name": "run", "network": "net", "data": ["x"], "output": ["y"]})
        >>> [v.variable_name for v in proto.executor[0].output_variable]
        ['y']

    Source: `nnabla.utils.save._create_executor` of nnabla 1.39.0.
    """
    network = network_of(networks, executor["network"], f"executor {executor['name']!r}")
    message = proto.executor.add(name=executor["name"], network_name=network.name)
    for name in (
        "no_image_normalization",
        "num_evaluations",
        "repeat_evaluation_type",
        "need_back_propagation",
    ):
        if executor.get(name) is not None:
            setattr(message, name, executor[name])
    data_names = executor.get("remp", {})
    for kind, names in (
        (message.data_variable, executor.get("data", network.inputs)),
        (message.output_variable, executor.get("output", network.outputs)),
    ):
        for name in names:
            if name not in network.variables:
                raise ValueError(
                    f"save: executor {executor['name']!r} names {name!r}, no variable of the network {network.name!r}"
                )
            kind.add(variable_name=name, data_name=data_names.get(name, name))
    for name in network.parameters:
        message.parameter_variable.add(variable_name=name)
    add_generators(message, executor.get("generator_variables", ()))


def add_generators(message: Any, names: Iterable[str]) -> None:
    for name in names:
        message.generator_variable.add(variable_name=name, type="Constant", multiplier=0)
