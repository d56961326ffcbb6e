"""Changes of network definitions."""

from __future__ import annotations

from collections.abc import Mapping

from ._networks import ProtoNetwork

__all__ = ["rename_variable"]


def rename_variable(proto_network: ProtoNetwork, renames: Mapping[str, str]) -> None:
    """Gives variables of a network other names, everywhere they occur in it.

    renames: old name -> new name. ValueError for an old name that the network does not have, and for a new
    one that another of its variables has; nothing is changed then.
    """
    proto_network._rename(renames)
