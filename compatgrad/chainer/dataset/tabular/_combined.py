"""Views of several tabular datasets."""

from compatgrad.chainer.dataset.tabular import _views, tabular_dataset


class _Combined(tabular_dataset.TabularDataset):
    def __init__(self, *datasets):
        self._datasets = datasets

    def convert(self, data):
        return self._datasets[0].convert(data)


class _Concat(_Combined):
    def __init__(self, *datasets):
        if any(dataset.keys != datasets[0].keys for dataset in datasets):
            raise ValueError(f"All datasets must have the same keys. Actual: {[dataset.keys for dataset in datasets]}")
        super().__init__(*datasets)

    def __len__(self):
        return sum(map(len, self._datasets))

    @property
    def keys(self):
        return self._datasets[0].keys

    @property
    def mode(self):
        return self._datasets[0].mode

    def _with_offsets(self):
        offset = 0
        for dataset in self._datasets:
            yield offset, dataset
            offset += len(dataset)

    def get_examples(self, indices, key_indices):
        n_columns = len(self.keys if key_indices is None else key_indices)
        if indices is None:
            parts = [dataset.get_examples(None, key_indices) for dataset in self._datasets]
        elif isinstance(indices, slice):
            parts = self._get_slice(indices, key_indices)
        else:
            return self._get_list(indices, key_indices, n_columns)
        if len(parts) == 1:
            return parts[0]
        return tuple([[value for part in parts for value in part[i]] for i in range(n_columns)])

    def _get_slice(self, indices, key_indices):
        rows = range(len(self))[indices]
        start, stop, step = indices.indices(len(self))
        parts = []
        for offset, dataset in self._with_offsets():
            mine = _clip(rows, offset, offset + len(dataset))
            if mine:
                end = min(stop - offset, len(dataset)) if step > 0 else max(stop - offset, -1)
                parts.append(dataset.get_examples(_views._as_slice(mine[0] - offset, end, step), key_indices))
        return parts if step > 0 else parts[::-1]

    def _get_list(self, indices, key_indices, n_columns):
        parts = []
        places = [None] * len(indices)  # number of the part and row in it
        for offset, dataset in self._with_offsets():
            mine = []
            for i, index in enumerate(indices):
                if offset <= index < offset + len(dataset):
                    places[i] = len(parts), len(mine)
                    mine.append(index - offset)
            if mine:
                parts.append(dataset.get_examples(mine, key_indices))
        if len(parts) == 1:
            return parts[0]
        return tuple([[parts[part][i][row] for part, row in places] for i in range(n_columns)])


def _clip(rows, start, stop):
    """The part of a range that lies in ``[start, stop)``."""
    if rows.step < 0:
        return _clip(rows[::-1], start, stop)[::-1]
    first = -(-(start - rows.start) // rows.step)
    last = -(-(stop - rows.start) // rows.step)
    return rows[max(first, 0) : max(last, 0)]


class _Join(_Combined):
    def __init__(self, *datasets):
        if any(len(dataset) != len(datasets[0]) for dataset in datasets):
            raise ValueError(
                f"All datasets must have the same length. Actual: {[len(dataset) for dataset in datasets]}"
            )
        super().__init__(*datasets)
        if len(set(self.keys)) != len(self.keys):
            raise ValueError(f"All keys must be unique among all datasets. Actual: {self.keys}")

    def __len__(self):
        return len(self._datasets[0])

    @property
    def keys(self):
        return tuple([key for dataset in self._datasets for key in dataset.keys])

    @property
    def mode(self):
        return next((dataset.mode for dataset in self._datasets if dataset.mode), tuple)

    def get_examples(self, indices, key_indices):
        if key_indices is None:
            return tuple([column for dataset in self._datasets for column in dataset.get_examples(indices, None)])
        columns = {}
        offset = 0
        for dataset in self._datasets:
            end = offset + len(dataset.keys)
            # Each column once, in the order of the request.
            mine = tuple(dict.fromkeys(i - offset for i in key_indices if offset <= i < end))
            if mine:
                for i, column in zip(mine, dataset.get_examples(indices, mine), strict=True):
                    columns[offset + i] = column
            offset = end
        return tuple([columns[i] for i in key_indices])
