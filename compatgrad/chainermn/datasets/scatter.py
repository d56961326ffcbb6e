"""Parts of a dataset for each process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer.datasets import SubDataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class DataSizeError(RuntimeError):
    """In older ChainerMN versions: the data is too large to send. Nothing raises it.

    Example:
        >>> issubclass(chainermn.DataSizeError, RuntimeError)
        True

    Source: `chainermn.DataSizeError` of Chainer 7.8.1.
    """


def scatter_dataset(
    dataset: Any,
    comm: CommunicatorBase,
    root: int = 0,
    shuffle: bool = False,
    seed: int | None = None,
    max_buf_len: int = 256 * 1024 * 1024,
    *,
    force_equal_length: bool = True,
) -> SubDataset:
    """The part for this process of the dataset of the process `root`.

    Args:
        dataset: the dataset, with a length and indices; only that of the process `root` counts.
        comm: the communicator.
        root: rank of the process whose dataset is shared.
        shuffle: True shares the examples in a random order.
        seed: seed of that order; None draws a seed.
        max_buf_len: bytes of a message, below 2**31 - 1.
        force_equal_length: True makes all parts equally long: they overlap where the examples cannot be shared evenly.

    Returns:
        A `SubDataset` of the examples of this process: all examples where there is one process.

    Raises:
        AssertionError: there is no process `root`, or `max_buf_len` is out of range.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.scatter_dataset([10, 20, 30], comm)[:]
        [10, 20, 30]
        >>> sorted(chainermn.scatter_dataset([10, 20, 30], comm, shuffle=True)[:])
        [10, 20, 30]

    Source: `chainermn.scatter_dataset` of Chainer 7.8.1.
    """
    if not 0 <= root < comm.size:
        raise AssertionError(f"scatter_dataset: root {root} is not one of the {comm.size} ranks")
    order = None
    if shuffle and dataset is not None:
        order = numpy.random.RandomState(seed).permutation(len(dataset))
    given = (dataset, order) if comm.rank == root else None
    dataset, order = comm.bcast_obj(given, max_buf_len=max_buf_len, root=root)
    start, stop = scatter_index(len(dataset), comm, root, force_equal_length=force_equal_length)
    return SubDataset(dataset, start, stop, order)


def scatter_index(
    n_total_samples: int, comm: CommunicatorBase, root: int = 0, *, force_equal_length: bool = True
) -> Sequence[int]:
    """The range of this process's part of `n_total_samples` examples.

    Args:
        n_total_samples: number of examples, 0 or more.
        comm: the communicator.
        root: rank of the process that computes the parts.
        force_equal_length: True makes all parts equally long: they overlap where the examples cannot be shared evenly.

    Returns:
        Two ints: index of the first example, and index of the last example plus 1.

    Raises:
        AssertionError: `n_total_samples` is negative.
        RuntimeError: `root` is not 0, and there is no other process.

    Example:
        >>> list(chainermn.scatter_index(5, chainermn.create_communicator("naive")))
        [0, 5]

    Source: `chainermn.scatter_index` of Chainer 7.8.1.
    """
    if comm.rank != root:
        return comm.recv_obj(source=root)
    parts = list(_scatter_index(n_total_samples, comm.size, force_equal_length))
    for rank, *part in parts:
        if rank != root:
            comm.send_obj(tuple(part), dest=rank)
    return parts[root][1:]


def _scatter_index(n, size, force_equal_length):
    if size <= 0 or n < 0:
        raise AssertionError(f"expected 0 or more examples and 1 or more processes, got {n} and {size}")
    longer = -(-n // size)
    for rank in range(size):
        if force_equal_length:
            start = n * rank // size
            yield rank, start, start + longer
        else:
            start = n // size * rank + min(rank, n % size)
            yield rank, start, start + n // size + (rank < n % size)


def _warn_deprecated(name):
    warnings.warn(f"{name} is deprecated. Please use standard epoch triggers.", DeprecationWarning, stacklevel=3)


def get_n_iterations_for_one_epoch(dataset: Any, local_batch_size: int, comm: CommunicatorBase) -> int:
    """The number of batches of size `local_batch_size` in the dataset of the first process. Deprecated, with a
    DeprecationWarning.

    Args:
        dataset: an object with a length.
        local_batch_size: number of examples of a batch.
        comm: the communicator.

    Returns:
        The number of batches, including a smaller last one.

    Raises:
        ZeroDivisionError: `local_batch_size` is 0.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.datasets.scatter.get_n_iterations_for_one_epoch([1, 2, 3], 2, comm)
        2

    Source: `chainermn.datasets.scatter.get_n_iterations_for_one_epoch` of Chainer 7.8.1.
    """
    _warn_deprecated("get_n_iterations_for_one_epoch")
    return comm.bcast_obj(-(-len(dataset) // local_batch_size) if comm.rank == 0 else None)


def get_epoch_trigger(n_epochs: int, dataset: Any, local_batch_size: int, comm: CommunicatorBase) -> tuple[int, str]:
    """A trigger, in iterations, for `n_epochs` epochs. Deprecated, as its DeprecationWarning says.

    Args:
        n_epochs: number of epochs.
        dataset: an object with a length.
        local_batch_size: number of examples of a batch.
        comm: the communicator.

    Returns:
        The number of iterations, and "iteration".

    Raises:
        ZeroDivisionError: `local_batch_size` is 0.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.datasets.scatter.get_epoch_trigger(10, [1, 2, 3], 2, comm)
        (20, 'iteration')

    Source: `chainermn.datasets.scatter.get_epoch_trigger` of Chainer 7.8.1.
    """
    _warn_deprecated("get_epoch_trigger")
    return n_epochs * get_n_iterations_for_one_epoch(dataset, local_batch_size, comm), "iteration"
