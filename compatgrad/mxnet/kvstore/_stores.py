"""KVStore: a store in one process, which adds up what several contexts push and hands the sum back."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.core.files import replacing

from .. import autograd
from .. import ndarray as nd
from .. import optimizer as opt
from ..base import MXNetError
from ._compression import TwoBits

__all__ = ["KVStore", "KVStoreBase", "TestStore"]


class KVStoreBase:
    """The interface of parameter stores. `create` finds classes that `KVStoreBase.register` registered.

    Example:
        >>> @mx.kvstore.KVStoreBase.register
        ... class DocStore(mx.kvstore.KVStoreBase):
        ...     @property
        ...     def type(self): return "docstore"
        >>> mx.kvstore.create("docstore").type
        'docstore'

    Source: `mxnet.kvstore.KVStoreBase` of MXNet 1.9.1.
    """

    OPTIMIZER = "optimizer"  # the capability to run the optimizer in the store
    kv_registry: dict[str, type] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Stores `value` as `key` and writes it to `out`, an array or a list of them."""
        raise NotImplementedError

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Adds up the arrays `value` and writes the sum to `out` (default: back to `value`)."""
        raise NotImplementedError

    def set_optimizer(self, optimizer: Any) -> None:
        """Makes the store update its values with `optimizer`."""
        raise NotImplementedError

    def is_capable(self, capability: str) -> bool:
        """Whether the store can do `capability`, such as KVStoreBase.OPTIMIZER."""
        raise NotImplementedError

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Writes the states of the store's optimizer to the file `fname`."""
        raise NotImplementedError

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` wrote."""
        raise NotImplementedError

    @property
    def type(self) -> str:
        """The name of the kind of store, a str."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """The number of this worker."""
        raise NotImplementedError

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        raise NotImplementedError

    @staticmethod
    def register(klass: type[Any]) -> type[Any]:
        """Class decorator: `create` knows the class by its name in lower case."""
        assert isinstance(klass, type)
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _total(arrays: list[nd.NDArray], ctx: Any) -> nd.NDArray:
    """The sum of `arrays` on `ctx`, which shares no memory with them."""
    total = arrays[0].copyto(ctx)
    for array in arrays[1:]:
        total = total + array.as_in_context(ctx)
    return total


def _overwrite(array: nd.NDArray, value: nd.NDArray) -> None:
    """Copies `value` into `array`; the copy is never recorded, because a store is not part of the graph."""
    with autograd.pause():
        if value.stype != array.stype:
            value = value.tostype(array.stype)
        value.copyto(array)


class _OfOneProcess(KVStoreBase):
    """A store that no other worker shares."""

    @property
    def rank(self) -> int:
        """0: there is one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one process."""
        return 1


@KVStoreBase.register
class TestStore(_OfOneProcess):
    """A minimal store, an example for other stores: it stores nothing, and adds up the given arrays.

    Example:
        >>> x, y = nd.ones(2), nd.ones(2)
        >>> mx.kvstore.create("teststore").pushpull("w", [x, y])
        >>> x.asnumpy(), y.asnumpy()
        (array([2., 2.], dtype=float32), array([2., 2.], dtype=float32))

    Source: `mxnet.kvstore.TestStore` of MXNet 1.9.1.
    """

    __test__ = False  # else pytest would take it for a class of tests because of its name

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        for array in _listed(out):
            array[:] = value

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        values = _listed(value)
        total = _total(values, values[0].context)
        for array in values if out is None else _listed(out):
            array[:] = total.as_in_context(array.context)

    @staticmethod
    def is_capable(capability: str) -> bool:
        _check_capability(capability)
        return False

    @property
    def type(self) -> str:
        return "teststore"


def _check_capability(capability: str) -> None:
    if capability.lower() != KVStoreBase.OPTIMIZER:
        raise ValueError(f"Unknown capability: {capability}")


class KVStore(_OfOneProcess):
    """A store of one process, which `create` makes: it adds up what several contexts push, and hands the sum back.

    The sum replaces the stored value, or goes to the updater (`set_optimizer`), which changes it. The keys of a store
    are all ints or all strs.

    Args:
        kind: what `type` says, such as "local".

    Raises:
        MXNetError: in the methods, a key is not known, known already, or of the other type.
        AssertionError: in the methods, a value is no NDArray, or there are not as many values as keys.

    Example:
        >>> store = mx.kvstore.create("local")
        >>> store.init("w", nd.zeros(2))
        >>> store.push("w", [nd.ones(2), 2 * nd.ones(2)])
        >>> x = nd.zeros(2)
        >>> store.pull("w", out=x)
        >>> x.asnumpy()
        array([3., 3.], dtype=float32)

    Source: `mxnet.kvstore.KVStore` of MXNet 1.9.1.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._values: dict = {}
        self._key_type: Any = None
        self._updater: Any = None
        self._compression: TwoBits | None = None

    # ---- keys ----

    def _pairs(self, key: Any, value: Any) -> list[tuple[Any, list[nd.NDArray]]]:
        """(key, list of arrays) for what a caller gave: one key, or a list of keys with as many values."""
        if isinstance(key, (list, tuple)):
            assert len(key) == len(value), f"KVStore got {len(key)} keys but {len(value)} values"
            # the values of a key that occurs several times are added up
            merged: dict = {}
            for one_key, one_value in zip(key, value, strict=True):
                merged.setdefault(self._checked(one_key), []).extend(self._arrays(one_value))
            return list(merged.items())
        return [(self._checked(key), self._arrays(value))]

    def _checked(self, key: Any) -> Any:
        if not isinstance(key, (int, str, numpy.integer)):
            raise AssertionError(f"unexpected type for keys: {type(key)}")
        kind = str if isinstance(key, str) else int
        if self._key_type not in (None, kind):
            raise MXNetError(
                f"KVStore: Mixed key types are not allowed: the keys so far are {self._key_type.__name__}, got {key!r}"
            )
        self._key_type = kind
        return kind(key)

    @staticmethod
    def _arrays(value: Any) -> list[nd.NDArray]:
        arrays = _listed(value)
        for array in arrays:
            assert isinstance(array, nd.NDArray), f"KVStore: expected NDArray, got {type(array).__name__}"
        return arrays

    def _stored(self, key: Any) -> nd.NDArray:
        if key not in self._values:
            raise MXNetError(f"KVStore: key {key} has not been inited")
        return self._values[key]

    # ---- values ----

    def init(self, key: Any, value: Any) -> None:
        """Stores `value` as `key`, or a list of values under a list of keys; MXNetError if a key is known."""
        for one_key, arrays in self._pairs(key, value):
            if one_key in self._values:
                raise MXNetError(
                    f"KVStore: duplicate init of key {one_key}. Check whether init or broadcast was called twice."
                )
            self._values[one_key] = arrays[0].copyto(arrays[0].context)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """`init`, then `pull` to `out`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Adds up the arrays given for a key and stores the sum, or has the updater use it."""
        for one_key, arrays in self._pairs(key, value):
            stored = self._stored(one_key)
            with autograd.pause():
                if self._compression is not None and arrays[0].stype == "default":
                    arrays = [
                        nd.NDArray(self._compression.rounded((one_key, i), array.tensor))
                        for i, array in enumerate(arrays)
                    ]
                total = _total(arrays, stored.context)
                if self._updater is None:
                    self._values[one_key] = total
                else:
                    self._updater(one_key, total, stored)

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copies the value of `key` to `out`, an array or a list of them.

        ignore_sparse: nothing is copied to row_sparse arrays (`row_sparse_pull` does that).
        """
        assert out is not None, "KVStore.pull: out must be given"
        for one_key, arrays in self._pairs(key, out):
            stored = self._stored(one_key)
            for array in arrays:
                if array.stype == "default" or not ignore_sparse:
                    _overwrite(array, stored)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """`push` of `value`, then `pull` to `out` (default: back to `value`)."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority, ignore_sparse=False)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Copies the rows `row_ids` (NDArray of ints, or a list with one per `out`) of a row_sparse value."""
        assert out is not None, "KVStore.row_sparse_pull: out must be given"
        assert row_ids is not None, "KVStore.row_sparse_pull: row_ids must be given"
        several = isinstance(key, (list, tuple))
        outs = [_listed(o) for o in out] if several else [_listed(out)]
        ids = [_listed(r) for r in row_ids] if several else [_listed(row_ids)]
        for one_key, arrays, rows in zip(_listed(key), outs, ids, strict=True):
            stored = self._stored(self._checked(one_key))
            if len(rows) == 1:
                rows = rows * len(arrays)
            assert len(rows) == len(arrays), "the number of row_ids doesn't match the number of values"
            for array, wanted in zip(arrays, rows, strict=True):
                assert isinstance(wanted, nd.NDArray), "row_ids should be NDArray or list of NDArray"
                if array.stype != "row_sparse":
                    raise MXNetError(f"KVStore.row_sparse_pull: out must be row_sparse, got {array.stype}")
                with autograd.pause():
                    wanted = wanted.as_in_context(stored.context).reshape((-1,))
                    _overwrite(array, nd.sparse.retain(stored, wanted))

    # ---- optimizers ----

    def is_capable(self, capability: str) -> bool:
        """True for "optimizer"; ValueError for an unknown capability."""
        _check_capability(capability)
        return True

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Has what is pushed compressed: `{"type": "2bit", "threshold": 0.5}` makes each number +threshold, -threshold
        or 0, and adds the rest to the next push. Stores with "device" or "dist" in their `type` can; MXNetError for
        others, and for other parameters."""
        if "device" not in self.type and "dist" not in self.type:
            raise MXNetError(
                f"Gradient compression is not supported for this type of kvstore: {self.type!r}; leave "
                "compression_params out"
            )
        self._compression = TwoBits.of(compression_params)

    def set_optimizer(self, optimizer: opt.Optimizer) -> None:
        """Has `optimizer` (Optimizer) update the stored values with what is pushed."""
        self._set_updater(opt.get_updater(optimizer))

    def _set_updater(self, updater: Any) -> None:
        """Has `updater(key, pushed, stored)` change the stored array in place."""
        self._updater = updater

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Writes the optimizer's states, and the optimizer itself with `dump_optimizer`, to the file `fname`."""
        assert self._updater is not None, "Cannot save states: the store has no optimizer"
        with replacing(fname) as out:
            out.write(self._updater.get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` wrote; call `set_optimizer` first."""
        assert self._updater is not None, "Cannot load states: the store has no optimizer"
        self._updater.load(fname)

    @property
    def type(self) -> str:
        """The kind of store, such as "local", a str."""
        return self._kind

    def _barrier(self) -> None:
        """Does nothing: there is no other process to wait for."""


# the classes are known by the package's name
for _class in (KVStoreBase, TestStore, KVStore):
    _class.__module__ = __package__
