"""Objects that processes exchange."""

from __future__ import annotations

import pickle
from typing import Any

from compatgrad.horovod.common import basics


def _dumped(obj: Any) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return pickle.dumps(obj)
    return bytes(cloudpickle.dumps(obj))


def broadcast_object(obj: Any, root_rank: int = 0, name: str | None = None) -> Any:
    """The object of one process.

    Args:
        obj: anything that can be pickled.
        root_rank: the process whose object is sent.
        name: has no effect.

    Returns:
        The object: in process `root_rank` the same, in others a copy.

    Raises:
        ValueError: there is no such process, or `init` was not called.
        DistributedError: a process does not come.

    Example:
        >>> hvd.init()
        >>> hvd.broadcast_object({"epoch": 3})
        {'epoch': 3}

    Source: `horovod.mxnet.broadcast_object` of Horovod 0.28.1.
    """
    group = basics.group()
    data = group.broadcast_object(_dumped(obj) if group.rank == root_rank else None, root_rank)
    return obj if group.rank == root_rank else pickle.loads(data)


def allgather_object(obj: Any, name: str | None = None) -> list[Any]:
    """The objects of all processes, by rank.

    Args:
        obj: anything that can be pickled.
        name: has no effect.

    Returns:
        The objects.

    Raises:
        ValueError: `init` was not called.
        DistributedError: a process does not come.

    Example:
        >>> hvd.init()
        >>> hvd.allgather_object("a")
        ['a']

    Source: `horovod.mxnet.allgather_object` of Horovod 0.28.1.
    """
    return [pickle.loads(data) for data in basics.group().all_gather_objects(_dumped(obj))]
