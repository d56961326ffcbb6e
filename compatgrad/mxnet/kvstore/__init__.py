"""KVStores: they add up what several contexts or processes push, and hand the sum back."""

from __future__ import annotations

import os
from typing import Any

from .. import ndarray as nd
from ..base import MXNetError
from ._distributed import DistributedStore
from ._stores import KVStore, KVStoreBase
from ._stores import TestStore as TestStore

__all__ = ["KVStore", "KVStoreBase", "create"]

_KINDS = ("local", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device", "device", "nccl")


def create(name: str = "local") -> Any:
    """A store.

    Args:
        name: the kind: "local", "device" and their variants; "dist_sync", "dist_device_sync" and other names with
            "dist" for a store of several processes; or the name in lower case of a class that `KVStoreBase.register`
            has seen.

    Returns:
        The store.

    Raises:
        TypeError: `name` is no str.
        MXNetError: the kind is not known, or is one that compatgrad does not have, such as "dist_async".

    Example:
        >>> mx.kvstore.create("device").type
        'device'

    Source: `mxnet.kvstore.create` of MXNet 1.9.1.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    kind = name.lower()
    if kind in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[kind]()
    if "dist" in kind:
        return DistributedStore(kind)
    if kind in ("p3", "horovod", "byteps"):
        raise MXNetError(f"KVStore {name!r} is not supported; 'dist_sync' is, and `horovod.mxnet` without a store")
    if kind not in _KINDS:
        raise MXNetError(f"Unknown KVStore type {name!r}; 'local', 'device' and 'dist_sync' are known")
    return KVStore(kind)


def _create_kvstore(kvstore: Any, num_device: int, arg_params: dict[str, nd.NDArray]) -> tuple[Any, bool]:
    """(store or None, whether the store runs the optimizer) for the argument `kvstore` of a Trainer or Module.

    One context needs no store. `arg_params`: dict of NDArrays; if one of them is large, the store "local" does not run
    the optimizer.
    """
    if kvstore is None or (isinstance(kvstore, str) and num_device == 1 and "dist" not in kvstore):
        return None, False
    update_on_kvstore = bool(int(os.getenv("MXNET_UPDATE_ON_KVSTORE", "1")))
    if isinstance(kvstore, KVStoreBase):
        store = kvstore
    elif isinstance(kvstore, str):
        store = create(kvstore)
        if kvstore == "local" and max(array.size for array in arg_params.values()) > 16 << 20:
            update_on_kvstore = False
    else:
        raise TypeError(f"kvstore must be KVStore, str or None, got {type(kvstore).__name__}")
    return store, update_on_kvstore and store.is_capable(KVStoreBase.OPTIMIZER)


def _create_sparse_kvstore(kvstore: Any) -> tuple[Any, bool]:
    """(store, True): row_sparse parameters are kept in a store, which runs the optimizer."""
    if isinstance(kvstore, str):
        kvstore = create(kvstore)
    elif not isinstance(kvstore, KVStore):
        raise TypeError(
            f"Cannot create '{kvstore}' KVStore with row_sparse parameters. The type must be KVStore or str."
        )
    return kvstore, True
