"""An extension that evaluates models during training."""

from __future__ import annotations

import copy
import datetime  # noqa: F401  programs find it here, as in Chainer
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend, configuration, function, iterators, link
from compatgrad.chainer import reporter as reporter_module
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.dataset import iterator as iterator_module
from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import util
from compatgrad.chainer.training.updaters import standard_updater

if TYPE_CHECKING:
    from compatgrad.chainer.dataset.iterator import Iterator
    from compatgrad.chainer.link import Link
    from compatgrad.chainer.types import DeviceSpec

_KNOWN_ITERATORS = (iterators.SerialIterator, iterators.MultiprocessIterator, iterators.MultithreadIterator)


class Evaluator(extension.Extension):
    """Runs a model on the batches of an iterator, each epoch, in test mode and without graphs, and reports the means of
    the values that the model reports. The extension's name is put before their names, as in "validation/main/loss". It
    can also be called without a trainer. Subclasses override `evaluate` for other evaluations.

    Args:
        iterator: iterator over the examples that stops at the end, such as `SerialIterator` with `repeat=False`, named
            "main", or a dict of iterators.
        target: the model, which is also named "main", or a dict of models.
        converter: function of a batch and a device that returns arrays.
        device: device to which the arrays are sent; None leaves them.
        eval_hook: called with this extension before each evaluation.
        eval_func: called with the arrays; None is the target.
        progress_bar: True shows a progress bar.

    Raises:
        KeyError: when the extension is called, a dict has no "main".
        TypeError: when the extension is called, `progress_bar` is True and the iterator lacks the attributes that the
            bar shows.

    Example:
        >>> data = [(np.ones(2, np.float32), np.int32(1))] * 4
        >>> iterator = chainer.iterators.SerialIterator(data, 2, repeat=False)
        >>> model = L.Classifier(L.Linear(2, 2, initialW=np.eye(2)))
        >>> result = chainer.training.extensions.Evaluator(iterator, model)()
        >>> sorted(result), round(float(result["main/loss"]), 4)
        (['main/accuracy', 'main/loss'], 0.6931)

    Source: `chainer.training.extensions.Evaluator` of Chainer 7.8.1.
    """

    trigger = 1, "epoch"
    default_name = "validation"
    priority = extension.PRIORITY_WRITER
    name = None

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        target: Link | dict[str, Link],
        converter: Callable[..., Any] = convert.concat_examples,
        device: DeviceSpec | None = None,
        eval_hook: Callable[[Any], None] | None = None,
        eval_func: Callable[..., Any] | None = None,
        *,
        progress_bar: bool = False,
    ) -> None:
        is_single = isinstance(iterator, iterator_module.Iterator)
        self._iterators = {"main": iterator} if is_single else iterator
        self._targets = {"main": target} if isinstance(target, link.Link) else target
        self.converter = converter
        self.device = None if device is None else backend.get_device(device)
        self.eval_hook = eval_hook
        self.eval_func = eval_func
        self._progress_bar = progress_bar
        for name, it in self._iterators.items():
            if isinstance(it, _KNOWN_ITERATORS) and it.repeat:
                warnings.warn(
                    f"The `repeat` property of the iterator {name} is set to `True`: the "
                    "evaluation reads it until it stops, and may never end.",
                    stacklevel=2,
                )

    def get_iterator(self, name: str) -> Iterator:
        """The iterator with the given name."""
        return self._iterators[name]

    def get_all_iterators(self) -> dict[str, Iterator]:
        """A dict of the iterators by name."""
        return dict(self._iterators)

    def get_target(self, name: str) -> Link:
        """The target with the given name."""
        return self._targets[name]

    def get_all_targets(self) -> dict[str, Link]:
        """A dict of the targets by name."""
        return dict(self._targets)

    def __call__(self, trainer: Any = None) -> dict[str, Any]:
        """Evaluates in test mode, reports the result and returns it, a dict. It needs no trainer."""
        reporter = reporter_module.Reporter()
        prefix = "" if self.name is None else f"{self.name}/"
        for name, target in self._targets.items():
            reporter.add_observer(prefix + name, target)
            reporter.add_observers(prefix + name, target.namedlinks(skipself=True))
        with reporter, configuration.using_config("train", False):
            result = self.evaluate()
        reporter_module.report(result)
        return result

    def evaluate(self) -> dict[str, Any]:
        """Reads the main iterator to its end and returns a dict of the means of the reported values."""
        if self.eval_hook:
            self.eval_hook(self)
        eval_func = self.eval_func or self._targets["main"]
        it = _restart(self._iterators["main"])
        summary = reporter_module.DictSummary()
        bar = _IteratorProgressBar(it) if self._progress_bar else None
        for batch in it:
            observation = {}
            with reporter_module.report_scope(observation):
                in_arrays = convert._call_converter(self.converter, batch, self.device)
                with function.no_backprop_mode():
                    standard_updater._call(eval_func, in_arrays)
            summary.add(observation)
            if bar:
                bar.update()
        if bar:
            bar.close()
        return summary.compute_mean()

    def finalize(self) -> None:
        """Finalizes the iterators."""
        for iterator in self._iterators.values():
            iterator.finalize()


def _restart(iterator):
    if hasattr(iterator, "reset"):
        iterator.reset()
        return iterator
    warnings.warn(
        "This iterator does not have the reset method. Evaluator copies the iterator instead of "
        "resetting. This behavior is deprecated. Please implement the reset method.",
        DeprecationWarning,
        stacklevel=3,
    )
    return copy.copy(iterator)


class _IteratorProgressBar(util.ProgressBar):
    def __init__(self, iterator, bar_length=None, out=None):
        for name in ("current_position", "epoch_detail"):
            if not hasattr(iterator, name):
                raise TypeError(
                    "Iterator must have the following attributes to enable a progress bar: "
                    "current_position, epoch_detail"
                )
        self._iterator = iterator
        super().__init__(bar_length, out)

    def get_lines(self):
        position, epoch = self._iterator.current_position, self._iterator.epoch_detail
        size = getattr(self._iterator, "_epoch_size", None)
        speed_t, speed_e = self.update_speed(position, epoch)
        seconds = (1.0 - epoch) / speed_e if speed_e else 0.0
        return [
            self.format_bar("validation", epoch),
            f"{position:10} / {size} iterations\n" if size else f"{position:10} iterations\n",
            self._format_speed(speed_t, seconds),
        ]
