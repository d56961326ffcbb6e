"""The iterator over a pipeline of NVIDIA DALI."""

from compatgrad.chainer import utils
from compatgrad.chainer.dataset import iterator


class DaliIterator(iterator.Iterator):
    """Iterator (experimental) that returns what ``pipeline.run()`` does; `repeat`: go on after an epoch."""

    def __init__(self, pipeline, repeat=True):
        utils.experimental("DaliIterator")
        self.pipeline = pipeline
        self._repeat = repeat
        self._is_build = False
        self.epoch_size = 1  # known once the pipeline is built
        self.reset()

    def __next__(self):
        if not self._is_build:
            self.pipeline.build()
            self._is_build = True
            self.epoch_size = next(iter(self.pipeline.epoch_size().values()))
        if not self._repeat and self.epoch > 0:
            raise StopIteration
        self._previous_epoch_detail = self.epoch_detail
        self.current_position += self.batch_size
        self.is_new_epoch = self.current_position >= self.epoch_size
        if self.is_new_epoch:
            self.epoch += 1
            self.current_position = self.current_position - self.epoch_size if self._repeat else 0
        return self.pipeline.run()

    next = __next__

    @property
    def repeat(self):
        return self._repeat

    @property
    def batch_size(self):
        return self.pipeline.batch_size

    @property
    def epoch_detail(self):
        return self.epoch + self.current_position / self.epoch_size

    @property
    def previous_epoch_detail(self):
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    def reset(self):
        """Go back to the beginning of an epoch; the pipeline goes on."""
        self.current_position = 0
        self.epoch = 0
        self.is_new_epoch = False
        self._previous_epoch_detail = -1.0

    def serialize(self, serializer):
        for name in ("current_position", "epoch", "is_new_epoch", "_previous_epoch_detail"):
            setattr(self, name, serializer(name.lstrip("_"), getattr(self, name)))
