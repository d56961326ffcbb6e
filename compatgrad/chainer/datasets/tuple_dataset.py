"""Several datasets side by side, as tuples."""


class TupleDataset:
    """Dataset of tuples of the examples of `datasets`; ValueError where their lengths differ."""

    def __init__(self, *datasets):
        if not datasets:
            raise ValueError("no datasets are given")
        length = len(datasets[0])
        for i, dataset in enumerate(datasets):
            if len(dataset) != length:
                raise ValueError(f"dataset of the index {i} has a wrong length")
        self._datasets = datasets
        self._length = length

    def __getitem__(self, index):
        batches = [dataset[index] for dataset in self._datasets]
        if isinstance(index, slice):
            return list(zip(*batches, strict=True))
        return tuple(batches)

    def __len__(self):
        return self._length
