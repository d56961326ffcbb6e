"""Orders in which the samples of a dataset are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Sampler", "SequentialSampler", "RandomSampler", "FilterSampler", "BatchSampler"]


class Sampler:
    """Base class: an iterable of indices (or lists of them) that knows its length."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")


class SequentialSampler(Sampler):
    """start, start + 1, …: `length` indices."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """0, …, length - 1 in an order that is drawn from NumPy's generator for each iteration."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        order = np.arange(self._length)
        np.random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples of `dataset` for which `fn` is true; all samples are read once, here."""

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._fn = fn
        self._dataset = dataset
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler.

    Args:
        last_batch: what becomes of a last batch that is too short: 'keep' gives it, 'discard' drops it, 'rollover'
            starts the next iteration with it.
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
