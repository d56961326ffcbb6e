"""Memory to which code outside of compatgrad can write without increasing torch's version counters."""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef

__all__ = ["Shared", "is_shared", "note_shared"]

_MANY = 1024
_known: dict[int, StorageWeakRef] = {}  # by address; a weak reference keeps the address from other storages


class Shared:
    """`last` is another object after each tensor whose memory is given away, so that who trusts version counters can
    ask again.
    """

    last = object()


def note_shared(t: torch.Tensor, given_away: bool = True) -> None:
    """Notes that other code may write to a tensor's memory, because the memory was given away, or came from there."""
    if t.device.type != "cpu":
        return
    if len(_known) >= _MANY:
        for address in [address for address, storage in list(_known.items()) if storage.expired()]:
            _known.pop(address, None)
    storage = t.untyped_storage()
    _known[storage._cdata] = StorageWeakRef(storage)
    if given_away:
        Shared.last = object()


def is_shared(t: torch.Tensor) -> bool:
    """Whether other code may write to the tensor's memory."""
    return t.untyped_storage()._cdata in _known
