"""Parts of a dataset for each process."""

import warnings

import numpy

from compatgrad.chainer.datasets import SubDataset


class DataSizeError(RuntimeError):
    """Was raised for data too large to send. Nothing raises it."""


def scatter_dataset(
    dataset, comm, root=0, shuffle=False, seed=None, max_buf_len=256 * 1024 * 1024, *, force_equal_length=True
):
    """This process's part of the dataset of `root`: a `SubDataset` of its examples in a row, or of a random order.

    `force_equal_length`: parts that overlap where the examples cannot be shared evenly. `seed`: of the order.
    """
    if not 0 <= root < comm.size:
        raise AssertionError(f"scatter_dataset: root {root} is no rank of {comm.size}")
    order = None
    if shuffle and dataset is not None:
        order = numpy.random.RandomState(seed).permutation(len(dataset))
    given = (dataset, order) if comm.rank == root else None
    dataset, order = comm.bcast_obj(given, max_buf_len=max_buf_len, root=root)
    start, stop = scatter_index(len(dataset), comm, root, force_equal_length=force_equal_length)
    return SubDataset(dataset, start, stop, order)


def scatter_index(n_total_samples, comm, root=0, *, force_equal_length=True):
    """Where this process's part of so many examples begins and ends."""
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


def get_n_iterations_for_one_epoch(dataset, local_batch_size, comm):
    """How many batches of that size the dataset of the first process has."""
    _warn_deprecated("get_n_iterations_for_one_epoch")
    return comm.bcast_obj(-(-len(dataset) // local_batch_size) if comm.rank == 0 else None)


def get_epoch_trigger(n_epochs, dataset, local_batch_size, comm):
    """A trigger, in iterations, for so many epochs."""
    _warn_deprecated("get_epoch_trigger")
    return n_epochs * get_n_iterations_for_one_epoch(dataset, local_batch_size, comm), "iteration"
