"""The evaluation of models during training."""

import copy
import datetime
import warnings

from compatgrad.chainer import backend, configuration, function, iterators, link
from compatgrad.chainer import reporter as reporter_module
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.dataset import iterator as iterator_module
from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import util
from compatgrad.chainer.training.updaters import standard_updater

_KNOWN_ITERATORS = (iterators.SerialIterator, iterators.MultiprocessIterator, iterators.MultithreadIterator)


class Evaluator(extension.Extension):
    """Reports, each epoch, the means of what a model reports for the batches of an iterator that ends.

    `iterator`, `target`: one, which is named "main", or a dict of them. `converter`: from a batch to
    arrays. `device`: where these are sent. `eval_hook`: called with this extension before each evaluation.
    `eval_func`: called with the arrays, by default the target. `progress_bar`: show one. Names are prefixed
    with that of the extension. Override `evaluate` for other evaluations.
    """

    trigger = 1, "epoch"
    default_name = "validation"
    priority = extension.PRIORITY_WRITER
    name = None

    def __init__(
        self,
        iterator,
        target,
        converter=convert.concat_examples,
        device=None,
        eval_hook=None,
        eval_func=None,
        *,
        progress_bar=False,
    ):
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
                    "evaluation reads it until it stops, and might do so forever.",
                    stacklevel=2,
                )

    def get_iterator(self, name):
        """Return an iterator by its name."""
        return self._iterators[name]

    def get_all_iterators(self):
        """Return a dict from names to iterators."""
        return dict(self._iterators)

    def get_target(self, name):
        """Return a target by its name."""
        return self._targets[name]

    def get_all_targets(self):
        """Return a dict from names to targets."""
        return dict(self._targets)

    def __call__(self, trainer=None):
        """Evaluate in test mode, report the result and return it, a dict. Needs no trainer."""
        reporter = reporter_module.Reporter()
        prefix = "" if self.name is None else f"{self.name}/"
        for name, target in self._targets.items():
            reporter.add_observer(prefix + name, target)
            reporter.add_observers(prefix + name, target.namedlinks(skipself=True))
        with reporter, configuration.using_config("train", False):
            result = self.evaluate()
        reporter_module.report(result)
        return result

    def evaluate(self):
        """Read the main iterator to its end and return the means of what was reported, a dict."""
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

    def finalize(self):
        """Finalize the iterators."""
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
            f"{speed_t:10.5g} iters/sec. Estimated time to finish: {datetime.timedelta(seconds=seconds)}.\n",
        ]
