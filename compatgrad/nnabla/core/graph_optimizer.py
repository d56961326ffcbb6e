"""Changes of network definitions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from .graph_def import ProtoNetwork

__all__ = ["rename_variable"]


def rename_variable(proto_network: ProtoNetwork, renames: Mapping[str, str]) -> None:
    """Gives variables of a network other names, everywhere they occur in it.

    renames: old name -> new name. ValueError for an old name that the network does not have, and for a new
    one that another of its variables has; nothing is changed then.
    """
    variables = proto_network.variables
    for old in renames:
        if old not in variables:
            raise ValueError(f"rename_variable: network {proto_network.name!r} has no variable {old!r}")
    names = [renames.get(name, name) for name in variables]
    if len(set(names)) < len(names):
        raise ValueError(f"rename_variable: two variables of network {proto_network.name!r} would have one name")

    def renamed(old: list[str]) -> list[str]:
        return [renames.get(name, name) for name in old]

    for variable, name in zip(variables.values(), names, strict=True):
        variable.name = name
    proto_network.variables = OrderedDict(zip(names, variables.values(), strict=True))
    for function in proto_network.functions.values():
        function.inputs, function.outputs = renamed(function.inputs), renamed(function.outputs)
    proto_network.inputs, proto_network.outputs = renamed(proto_network.inputs), renamed(proto_network.outputs)
