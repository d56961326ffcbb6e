"""Processes that exchange tensors and objects, by `torch.distributed`: what the communicators of all frontends are made
of.

    group = distributed.world()                 # connects the processes of the job; a group of one where there is none
    group.rank, group.size, group.local_rank    # who this process is
    group.all_reduce(tensor)                    # collectives on tensors of known shape, in place
    group.broadcast_packet("bcast", packet)     # messages of any form: Packet(object, tensors)
    group.send(packet, dest, tag); group.receive(source, tag)
    group.split(color, key); group.subgroup(ranks)

`torch.distributed` is imported when processes connect. Each collective ends at the deadline, with an error that names
the missing processes (`_waiting.py`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatgrad.core.distributed._messages import ANY, Message, Packet
    from compatgrad.core.distributed.errors import DistributedError
    from compatgrad.core.distributed.group import Group, Pending, world
    from compatgrad.core.distributed.launching import Launch, detect
    from compatgrad.core.distributed.reducing import Buckets

__all__ = ["ANY", "Buckets", "DistributedError", "Group", "Launch", "Message", "Packet", "Pending", "detect", "world"]

_MODULES = {
    "_messages": ("ANY", "Message", "Packet"),
    "errors": ("DistributedError",),
    "group": ("Group", "Pending", "world"),
    "launching": ("Launch", "detect"),
    "reducing": ("Buckets",),
}


def __getattr__(name: str) -> Any:
    # The frontends import this package, and most programs have one process: modules are imported at first use.
    for module, names in _MODULES.items():
        if name in names:
            found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
