"""Several datasets side by side, as dicts."""


class DictDataset:
    """Dataset of dicts of the examples of `datasets`; ValueError where their lengths differ."""

    def __init__(self, **datasets):
        if not datasets:
            raise ValueError("no datasets are given")
        length = len(next(iter(datasets.values())))
        for key, dataset in datasets.items():
            if len(dataset) != length:
                raise ValueError(f'dataset length conflicts at "{key}"')
        self._datasets = datasets
        self._length = length

    def __getitem__(self, index):
        batches = {key: dataset[index] for key, dataset in self._datasets.items()}
        if isinstance(index, slice):
            return [dict(zip(batches, values, strict=True)) for values in zip(*batches.values(), strict=True)]
        return batches

    def __len__(self):
        return self._length
