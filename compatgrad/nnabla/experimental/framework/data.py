"""`Data`, the data source and the iterator of a training."""

from __future__ import annotations

from typing import Any

from ...utils.data_iterator import data_iterator
from ...utils.data_source import DataSource

__all__ = ["Data"]


class Data:
    """A data source and an iterator over it, for a `Worker`.

    Subclasses define `CustomDataSource`, or `__data_source__` and `__data_iterator__`, and those of `reset`, `next` and
    `size` that they need.

    Example:
        >>> from compatgrad.nnabla.experimental.framework import Data
        >>> from compatgrad.nnabla.utils.data_iterator import SimpleDataSource, data_iterator
        >>> class Numbers(Data):
        ...     def __data_source__(self):
        ...         return SimpleDataSource(lambda i: (np.array([i]),), 4)
        ...     def __data_iterator__(self, data_source):
        ...         return data_iterator(data_source, batch_size=2, use_thread=False)
        ...     def next(self):
        ...         return self._data_iterator.next()
        >>> Numbers().next()
        (array([[0],
               [1]]),)

    Source: `nnabla.experimental.framework.Data` of nnabla 1.39.0.
    """

    class CustomDataSource(DataSource):
        """The data source, unless `__data_source__` returns another one."""

    def __init__(self) -> None:
        self._data_source = self.__data_source__()
        self._data_iterator = self.__data_iterator__(self._data_source)

    def __data_source__(self) -> Any:
        return self.CustomDataSource()

    def __data_iterator__(self, data_source: Any) -> Any:
        return data_iterator(data_source)

    def reset(self) -> Any:
        """Starts from the beginning."""

    def next(self) -> Any:
        """The next minibatch."""

    def size(self) -> Any:
        """The number of samples."""
