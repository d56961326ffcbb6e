"""MXDataIter, the base class of iterators over numbered samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .. import ndarray as nd
from ..base import MXNetError
from ..context import current_context
from .io import DataBatch, DataDesc, DataIter

__all__ = ["MXDataIter", "part"]

Names = tuple[str, str]


class MXDataIter(DataIter):
    """Base class of iterators over numbered samples, with one array of data and one of labels in a batch.

    A subclass calls `_begin` and defines `_load(samples)`, the two NumPy arrays of the samples of those numbers.

    Args:
        batch_size: samples in a batch.

    Example:
        >>> issubclass(mx.io.CSVIter, mx.io.MXDataIter)
        True

    Source: `mxnet.io.MXDataIter` of MXNet 1.9.1.
    """

    def _begin(
        self,
        batch_size: int,
        count: int,
        data: tuple[tuple[int, ...], Any],
        label: tuple[tuple[int, ...], Any],
        names: Names,
        round_batch: bool = True,
        whole_batches: bool = False,
        order: Callable[[], Sequence[int]] | None = None,
    ) -> None:
        """`data`, `label`: (shape of a sample, dtype). `order()`: the numbers of the samples of an epoch.

        `round_batch`: samples that fill up the last batch are left out of the next epoch. `whole_batches`: a last batch
        that is too short is dropped.
        """
        if count <= 0:
            raise MXNetError(f"{type(self).__name__}: there are no samples")
        if batch_size < 1:
            raise MXNetError(f"{type(self).__name__}: batch_size: expected 1 or more, got {batch_size}")
        super().__init__(batch_size)
        self.provide_data = [DataDesc(names[0], (batch_size, *data[0]), data[1])]
        self.provide_label = [DataDesc(names[1], (batch_size, *label[0]), label[1])]
        self._count = count
        self._round_batch = round_batch
        self._whole_batches = whole_batches
        self._order = order or (lambda: range(count))
        self._epoch = list(self._order())
        self._at = 0
        self._borrowed = 0

    def _load(self, samples: Sequence[int]) -> tuple[Any, Any]:
        """New arrays of data and labels, which become those of the batch."""
        raise NotImplementedError

    def reset(self) -> None:
        """Begins the next epoch."""
        if self._at:
            self._epoch = list(self._order())
        self._at, self._borrowed = self._borrowed, 0

    def _advance(self) -> tuple[list[int], int] | None:
        """Goes on by a batch: the numbers of its samples, and how many fill it up; None at the end."""
        left = len(self._epoch) - self._at
        if left <= 0 or (self._whole_batches and left < self.batch_size):
            return None
        samples = self._epoch[self._at : self._at + self.batch_size]
        self._at += len(samples)
        pad = self.batch_size - len(samples)
        if pad:
            if self._round_batch and pad > len(self._epoch):
                raise MXNetError(
                    f"{type(self).__name__}: number of input must be bigger than batch size: a batch of "
                    f"{self.batch_size} cannot be made of {len(self._epoch)} samples"
                )
            samples = samples + [self._epoch[i % len(self._epoch)] for i in range(pad)]
            self._borrowed = pad % len(self._epoch) if self._round_batch else 0
        return samples, pad

    def iter_next(self) -> bool:
        """Goes to the next batch; False at the end."""
        coming = self._advance()
        if coming is None:
            return False
        samples, pad = coming
        self._show(samples, pad, self._load(samples))
        return True

    def _show(self, samples: list[int], pad: int, arrays: tuple[Any, Any]) -> None:
        """Makes arrays of data and labels the current batch."""
        desc = self.provide_data[0], self.provide_label[0]
        data, label = [self._array(x, d) for x, d in zip(arrays, desc, strict=True)]
        self._batch = DataBatch([data], [label], pad, np.array(samples, dtype=np.uint64))

    def _array(self, values: Any, desc: DataDesc) -> nd.NDArray:
        """An NDArray of values that nothing else refers to."""
        values = values.reshape(desc.shape)
        if current_context().device_type != "cpu" or values.dtype != desc.dtype or not values.flags.c_contiguous:
            return nd.array(values, dtype=desc.dtype)
        return nd.NDArray(torch.from_numpy(values))

    def next(self) -> DataBatch:
        """The next batch; StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return self._batch

    def getdata(self) -> Any:
        """The array of data of the current batch, not in a list."""
        return self._batch.data[0]

    def getlabel(self) -> Any:
        """The array of labels of the current batch, not in a list."""
        return self._batch.label[0]

    def getindex(self) -> Any:
        """The numbers of the samples of the current batch, uint64."""
        return self._batch.index

    def getpad(self) -> Any:
        """The number of samples that fill up the current batch."""
        return self._batch.pad


def part(items: list[Any], part_index: int, num_parts: int) -> list[Any]:
    """Part `index`, from 0, of `num_parts` equal parts of a list; elements left over at the end are in no part."""
    size = len(items) // num_parts
    return items[part_index * size : (part_index + 1) * size] if num_parts > 1 else items
