"""DataLoaderIter: a gluon DataLoader as a DataIter."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..io import DataDesc, DataIter

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """The batches (data, label) of a gluon DataLoader for a Module; the last one is filled up to the size of the first.

    One batch is drawn at construction, for its shapes.

    Args:
        loader: the DataLoader.
        data_name: name of the data in the module's symbol.
        label_name: name of the label.
        dtype: dtype that both are cast to.

    Raises:
        StopIteration: the loader has no batch.
        ValueError: a batch is no pair.

    Example:
        >>> data = gluon.data.ArrayDataset(np.arange(3, dtype=np.float32), np.zeros(3, np.float32))
        >>> batches = mx.contrib.io.DataLoaderIter(gluon.data.DataLoader(data, batch_size=2))
        >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
        [([0.0, 1.0], 0), ([2.0, 0.0], 1)]

    Source: `mxnet.contrib.io.DataLoaderIter` of MXNet 1.9.1.
    """

    def __init__(
        self, loader: Any, data_name: str = "data", label_name: str = "softmax_label", dtype: Any = "float32"
    ) -> None:
        super().__init__()
        self._loader = loader
        data, label = next(iter(loader))
        self.batch_size = data.shape[0]
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self.reset()

    def reset(self) -> None:
        """Begins again."""
        self._iter = iter(self._loader)
        self._current_batch: Any = None

    def iter_next(self) -> bool:
        """Goes to the next batch; False at the end."""
        self._current_batch = next(self._iter, None)
        return self._current_batch is not None

    def _filled(self, x: Any) -> list[Any]:
        x = x.astype(self.dtype)
        if self.getpad():
            whole = nd.zeros((self.batch_size, *x.shape[1:]), dtype=self.dtype)
            whole[: x.shape[0]] = x
            x = whole
        return [x]

    def getdata(self) -> list[Any]:
        """The data of the batch."""
        return self._filled(self._current_batch[0])

    def getlabel(self) -> list[Any]:
        """The labels of the batch."""
        return self._filled(self._current_batch[1])

    def getpad(self) -> int:
        """The number of samples at the end of the batch that only fill it up."""
        return self.batch_size - self._current_batch[0].shape[0]

    def getindex(self) -> None:
        """None, as a DataLoader does not report the indices of samples."""
