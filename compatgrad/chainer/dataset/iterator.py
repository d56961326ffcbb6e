"""The interface of dataset iterators."""


class Iterator:
    """Base class of dataset iterators: ``__next__`` returns a batch, a list of examples.

    An iterator has the attributes ``batch_size``, ``epoch`` (completed sweeps), ``epoch_detail`` (the same
    with a fraction), ``previous_epoch_detail`` (that before the last batch, None at first) and
    ``is_new_epoch`` (whether the last batch completed a sweep).
    """

    def __del__(self):
        self.finalize()

    def __iter__(self):
        return self

    def __next__(self):
        raise NotImplementedError

    def next(self):
        """The same as ``__next__``."""
        return self.__next__()

    def finalize(self):
        """Release threads and processes; may be called twice."""

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.finalize()

    def serialize(self, serializer):
        """Save or load what changes while iterating."""
