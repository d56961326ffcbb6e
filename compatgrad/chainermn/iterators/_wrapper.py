"""An iterator in front of another."""

from compatgrad.chainer.dataset import Iterator


class IteratorWrapper(Iterator):
    """Its attributes are those of `actual_iterator`."""

    def __init__(self, actual_iterator, communicator):
        object.__setattr__(self, "actual_iterator", actual_iterator)
        object.__setattr__(self, "communicator", communicator)

    def __getattr__(self, name):
        if name == "actual_iterator":  # a copy, which has nothing yet
            raise AttributeError(name)
        return getattr(self.actual_iterator, name)

    def __setattr__(self, name, value):
        setattr(self.actual_iterator, name, value)

    def __next__(self):
        return self.actual_iterator.__next__()

    def next(self):
        return self.__next__()

    def finalize(self):
        if "actual_iterator" in self.__dict__:  # else it was refused
            self.actual_iterator.finalize()

    def serialize(self, serializer):
        self.actual_iterator.serialize(serializer)
