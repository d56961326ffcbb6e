"""Functions that change network definitions."""

from __future__ import annotations

from collections.abc import Mapping

from ._networks import ProtoNetwork

__all__ = ["rename_variable"]


def rename_variable(proto_network: ProtoNetwork, renames: Mapping[str, str]) -> None:
    """Renames variables of a network, everywhere in the network.

    Args:
        proto_network: the network, which changes.
        renames: maps old names to new ones.

    Raises:
        ValueError: the network has no variable of an old name, or another variable has a new name already; nothing is
            changed then.

    Example:
        >>> from compatgrad.nnabla.core import graph_def, graph_optimizer
        >>> with graph_def.graph(name="net") as graph:
        ...     y = F.relu(graph_def.ProtoVariable((2, 3), name="x"))
        >>> graph_optimizer.rename_variable(graph.networks["net"], {"x": "image"})
        >>> graph.networks["net"].inputs
        ['image']

    Source: `nnabla.core.graph_optimizer.rename_variable` of nnabla 1.39.0.
    """
    proto_network._rename(renames)
