"""Functions of a tabular dataset."""

from compatgrad.chainer.dataset.tabular import _views


class _TransformBase(_views._View):
    _name = None
    _mode_is_known = False

    def __init__(self, dataset, keys, function):
        super().__init__(dataset)
        self._keys = keys if isinstance(keys, tuple) else (keys,)
        self._function = function

    @property
    def keys(self):
        return self._keys

    @property
    def mode(self):
        if not self._mode_is_known:
            self.get_examples([0], None)
        return self._mode

    def _call(self, values):
        """Apply the function to an example or to columns; return its results by number of the column."""
        dataset = self.dataset
        if dataset.mode is dict:
            result = self._function(**dict(zip(dataset.keys, values, strict=True)))
        else:
            result = self._function(*values)
        mode = type(result) if isinstance(result, (tuple, dict)) else None
        mode = next((kind for kind in (tuple, dict) if mode and issubclass(mode, kind)), None)
        if self._mode_is_known and mode is not self._mode:
            raise ValueError(f"{self._name} must not change its return type")
        self._mode = mode
        self._mode_is_known = True
        if mode is None:
            return (result,)
        return result if mode is tuple else {i: result[k] for i, k in enumerate(self._keys) if k in result}

    def _get_key_indices(self, key_indices):
        return range(len(self._keys)) if key_indices is None else key_indices


class _Transform(_TransformBase):
    _name = "transform"

    def get_examples(self, indices, key_indices):
        examples = zip(*self.dataset.get_examples(indices, None), strict=True)
        results = [self._call(example) for example in examples]
        return tuple([[result[i] for result in results] for i in self._get_key_indices(key_indices)])


class _TransformBatch(_TransformBase):
    _name = "transform_batch"

    def get_examples(self, indices, key_indices):
        if indices is None:
            length = len(self)
        elif isinstance(indices, slice):
            length = len(range(len(self))[indices])
        else:
            length = len(indices)
        columns = self._call(self.dataset.get_examples(indices, None))
        for column in columns.values() if isinstance(columns, dict) else columns:
            if len(column) != length:
                raise ValueError(
                    f"transform_batch must not change the length of data. Actual: {len(column)}, expected {length}"
                )
        return tuple([columns[i] for i in self._get_key_indices(key_indices)])
