"""The iterator over a pipeline of NVIDIA DALI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import utils
from compatgrad.chainer.dataset import iterator

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer


class DaliIterator(iterator.Iterator):
    """Returns the results of `run` of an NVIDIA DALI pipeline, and counts examples and epochs. It is experimental:
    creating one issues a FutureWarning.

    Args:
        pipeline: a DALI pipeline, or an object with its `build`, `run`, `epoch_size` and `batch_size`; `build` is
            called before the first batch.
        repeat: True continues after an epoch; False ends there, with StopIteration.

    Example:
        >>> class Pipeline:
        ...     batch_size = 2
        ...     def build(self): pass
        ...     def epoch_size(self): return {"reader": 4}
        ...     def run(self): return ["images", "labels"]
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     it = chainer.iterators.DaliIterator(Pipeline(), repeat=False)
        >>> it.next(), it.epoch_detail
        (['images', 'labels'], 0.5)

    Source: `chainer.iterators.DaliIterator` of Chainer 7.8.1.
    """

    def __init__(self, pipeline: Any, repeat: bool = True) -> None:
        utils.experimental("DaliIterator")
        self.pipeline = pipeline
        self._repeat = repeat
        self._is_build = False
        self.epoch_size = 1  # known once the pipeline is built
        self.reset()

    def __next__(self) -> Any:
        """The result of the pipeline's `run`. Without `repeat`, raises StopIteration at the end."""
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
    def repeat(self) -> bool:
        """Whether the iterator continues after an epoch."""
        return self._repeat

    @property
    def batch_size(self) -> int:
        """Number of examples in a batch, which the pipeline determines."""
        return self.pipeline.batch_size

    @property
    def epoch_detail(self) -> float:
        """Number of epochs that have been read, with the fraction of this one."""
        return self.epoch + self.current_position / self.epoch_size

    @property
    def previous_epoch_detail(self) -> float | None:
        """`epoch_detail` before the last batch; None before the first."""
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    def reset(self) -> None:
        """Go back to the beginning of an epoch; the pipeline's own position does not change."""
        self.current_position = 0
        self.epoch = 0
        self.is_new_epoch = False
        self._previous_epoch_detail = -1.0

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads position and epoch; the pipeline's own position stays as it is."""
        for name in ("current_position", "epoch", "is_new_epoch", "_previous_epoch_detail"):
            setattr(self, name, serializer(name.lstrip("_"), getattr(self, name)))
