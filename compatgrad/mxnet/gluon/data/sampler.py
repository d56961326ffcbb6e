"""Orders in which the samples of a dataset are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Sampler", "SequentialSampler", "RandomSampler", "FilterSampler", "BatchSampler"]


class Sampler:
    """Base class: an iterable of indices, or of lists of indices, with a length.

    Raises:
        NotImplementedError: a subclass does not define `__iter__` and `__len__`.

    Example:
        >>> isinstance(gluon.data.RandomSampler(3), gluon.data.Sampler)
        True

    Source: `mxnet.gluon.data.Sampler` of MXNet 1.9.1.
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")


class SequentialSampler(Sampler):
    """start, start + 1, and so on.

    Args:
        length: how many indices.
        start: the first one.

    Example:
        >>> list(gluon.data.SequentialSampler(3, start=5))
        [5, 6, 7]

    Source: `mxnet.gluon.data.SequentialSampler` of MXNet 1.9.1.
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """0 to length - 1 in an order that is drawn from NumPy's generator for each iteration.

    Args:
        length: how many indices.

    Example:
        >>> sorted(int(i) for i in gluon.data.RandomSampler(3))
        [0, 1, 2]

    Source: `mxnet.gluon.data.RandomSampler` of MXNet 1.9.1.
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        order = np.arange(self._length)
        np.random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples for which a function is true; all samples are read once, at the beginning.

    Args:
        fn: called with a sample.
        dataset: anything with `len()` and `[]`.

    Example:
        >>> list(gluon.data.FilterSampler(lambda x: x > 4, [3, 5, 7]))
        [1, 2]

    Source: `mxnet.gluon.data.FilterSampler` of MXNet 1.9.1.
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._fn = fn
        self._dataset = dataset
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of indices of another sampler.

    Args:
        sampler: an iterable of indices that knows its length.
        batch_size: how many are in a list.
        last_batch: what becomes of a last batch that is too short: "keep" gives it, "discard" drops it, "rollover"
            starts the next iteration with it.

    Raises:
        ValueError: in an iteration, and for `len()`, `last_batch` has another value.

    Example:
        >>> list(gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, last_batch="keep"))
        [[0, 1], [2, 3], [4]]

    Source: `mxnet.gluon.data.BatchSampler` of MXNet 1.9.1.
    """

    def __init__(self, sampler: Any, batch_size: int, last_batch: str = "keep") -> None:
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._prev: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._prev = self._prev, []
        for i in self._sampler:
            batch.append(i)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if not batch:
            return
        if self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch
        elif self._last_batch != "discard":
            raise self._unknown()

    def __len__(self) -> int:
        if self._last_batch == "keep":
            return -(-len(self._sampler) // self._batch_size)
        if self._last_batch == "discard":
            return len(self._sampler) // self._batch_size
        if self._last_batch == "rollover":
            return (len(self._prev) + len(self._sampler)) // self._batch_size
        raise self._unknown()

    def _unknown(self) -> ValueError:
        return ValueError(f"last_batch must be 'keep', 'discard' or 'rollover', not {self._last_batch!r}")
