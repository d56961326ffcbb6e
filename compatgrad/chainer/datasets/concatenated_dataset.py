"""Several datasets one after the other."""

from compatgrad.chainer.dataset import dataset_mixin


class ConcatenatedDataset(dataset_mixin.DatasetMixin):
    """Dataset of the examples of all `datasets`, in order."""

    def __init__(self, *datasets):
        self._datasets = datasets

    def __len__(self):
        return sum(map(len, self._datasets))

    def get_example(self, i):
        if i >= 0:
            for dataset in self._datasets:
                length = len(dataset)
                if i < length:
                    return dataset[i]
                i -= length
        raise IndexError("dataset index out of range")
