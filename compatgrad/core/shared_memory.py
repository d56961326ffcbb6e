"""Memory to which code outside of compatgrad can write without increasing torch's version counters."""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from compatgrad.core.changes import Changes

__all__ = ["is_shared", "note_shared"]

_MANY = 1024
_known: dict[int, StorageWeakRef] = {}  # by address; a weak reference keeps the address from other storages


def note_shared(t: torch.Tensor, given_away: bool = True) -> None:
    """Notes that other code may write to a tensor's memory, because the memory was given away, or came from there.

    Args:
        t: a tensor. Those that are not in main memory are not noted.
        given_away: whether other code got the memory, which is noted in `Changes`.

    Raises:
        NotImplementedError: the tensor has no storage, as those of sparse layouts.

    Example:
        >>> import torch
        >>> from compatgrad.core.shared_memory import is_shared, note_shared
        >>> t = torch.zeros(2)
        >>> note_shared(t)
        >>> is_shared(t[1:])
        True

    Source: `compatgrad/core/shared_memory.py`.
    """
    if t.device.type != "cpu":
        return
    if len(_known) >= _MANY:
        for address in [address for address, storage in list(_known.items()) if storage.expired()]:
            _known.pop(address, None)
    storage = t.untyped_storage()
    _known[storage._cdata] = StorageWeakRef(storage)
    if given_away:
        Changes.note()


def is_shared(t: torch.Tensor) -> bool:
    """Whether other code may write to the tensor's memory.

    Args:
        t: a tensor.

    Returns:
        Whether `note_shared` was called for a tensor with the same memory.

    Raises:
        NotImplementedError: the tensor has no storage, as those of sparse layouts.

    Example:
        >>> import torch
        >>> from compatgrad.core.shared_memory import is_shared
        >>> is_shared(torch.zeros(2))
        False

    Source: `compatgrad/core/shared_memory.py`.
    """
    return t.untyped_storage()._cdata in _known
