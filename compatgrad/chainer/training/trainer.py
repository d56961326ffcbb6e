"""The training loop."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import reporter as reporter_module
from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer.training import extension as extension_module
from compatgrad.chainer.training import trigger as trigger_module
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer

_get_time = time.perf_counter


class _ExtensionEntry:
    def __init__(self, extension, priority, trigger, call_before_training):
        self.extension = extension
        self.trigger = trigger
        self.priority = priority
        self.call_before_training = call_before_training


class Trainer:
    """The training loop: calls an updater, and after each update the extensions whose triggers fire, until the stop
    trigger fires. The targets of the updater's optimizers report values under the optimizers' names; the dict
    `observation` has the values that were reported in an iteration.

    Args:
        updater: the updater.
        stop_trigger: when to stop, a trigger or a pair of a number and "iteration" or "epoch"; None never stops.
        out: folder of the files that extensions write; `run` makes it.
        extensions: extensions to add, with their own names, triggers and priorities.

    Example:
        >>> data = [(np.ones(2, np.float32), np.int32(1))] * 4
        >>> optimizer = chainer.optimizers.SGD().setup(L.Classifier(L.Linear(2, 2)))
        >>> updater = chainer.training.StandardUpdater(chainer.iterators.SerialIterator(data, 2), optimizer)
        >>> chainer.training.Trainer(updater, (3, "epoch")).run()
        >>> updater.iteration, updater.epoch
        (6, 3)

    Source: `chainer.training.Trainer` of Chainer 7.8.1.
    """

    def __init__(
        self, updater: Any, stop_trigger: Any = None, out: str = "result", extensions: Iterable[Any] | None = None
    ) -> None:
        self.updater = updater
        self.stop_trigger = trigger_module.get_trigger(stop_trigger)
        self.observation = {}
        self.out = out
        self.reporter = reporter_module.Reporter()
        for name, optimizer in updater.get_all_optimizers().items():
            self.reporter.add_observer(name, optimizer.target)
            self.reporter.add_observers(name, optimizer.target.namedlinks(skipself=True))

        self._done = False
        self._extensions = {}
        self._start_at = None
        self._snapshot_elapsed_time = 0.0
        self._final_elapsed_time = None

        updater.connect_trainer(self)
        for ext in extensions or ():
            self.extend(ext)

    @property
    def is_before_training(self):
        """Whether no update has been made."""
        return self.updater.iteration == 0

    @property
    def elapsed_time(self):
        """Seconds of training, including those before a loaded snapshot. Raises RuntimeError before `run`."""
        if self._done:
            return self._final_elapsed_time
        if self._start_at is None:
            raise RuntimeError("training has not been started yet")
        return _get_time() - self._start_at + self._snapshot_elapsed_time

    def extend(
        self,
        extension: Any,
        name: str | None = None,
        trigger: Any = None,
        priority: int | None = None,
        *,
        call_before_training: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add an extension: any callable that takes the trainer.

        `name`, `trigger` and `priority` default to the extension's attributes, then to those of
        `Extension`; extensions of high priority are called first. A number is appended to a name that is in use.
        `call_before_training`: True also calls it once before the first update. Raises TypeError if there is no name,
        and ValueError for the name "training".
        """
        argument.check_unexpected_kwargs(
            kwargs, invoke_before_training=extension_module._REMOVED.format("initializer=")
        )
        argument.assert_kwargs_empty(kwargs)
        if name is None:
            name = _get_name(extension)
        if name == "training":
            raise ValueError('the name "training" is prohibited as an extension name')
        if trigger is None:
            trigger = getattr(extension, "trigger", extension_module.Extension.trigger)
        if priority is None:
            priority = getattr(extension, "priority", extension_module.Extension.priority)
        unique_name = name
        number = 0
        while unique_name in self._extensions:
            number += 1
            unique_name = f"{name}_{number}"
        extension.name = unique_name
        self._extensions[unique_name] = _ExtensionEntry(
            extension, priority, trigger_module.get_trigger(trigger), call_before_training
        )

    def get_extension(self, name: str) -> Any:
        """The extension with the given name. Raises ValueError if there is none."""
        if name not in self._extensions:
            raise ValueError(f"extension {name} not found")
        return self._extensions[name].extension

    def run(self, show_loop_exception_msg: bool = True) -> None:
        """Runs the training loop. Raises RuntimeError if this trainer has run already.

        `show_loop_exception_msg`: True prints an exception at once, because finalizing the extensions may take long or
        hang.
        """
        if self._done:
            raise RuntimeError("cannot run training loop multiple times")
        # Where the folder cannot be made, the extensions that write to it raise the error.
        with contextlib.suppress(OSError):
            os.makedirs(self.out)
        entries = sorted(self._extensions.values(), key=lambda entry: entry.priority, reverse=True)

        self._start_at = _get_time()
        for entry in entries:
            initialize = getattr(entry.extension, "initialize", None)
            if initialize and not getattr(entry.trigger, "finished", False):
                initialize(self)
        if self.is_before_training:
            self.observation = {}
            with self.reporter.scope(self.observation):
                for entry in entries:
                    if entry.call_before_training:
                        entry.extension(self)
        try:
            self._loop(entries)
        except Exception as e:
            if show_loop_exception_msg:
                _print_exception("main training loop", e)
                print("Will finalize trainer extensions and updater before reraising the exception.", file=sys.stderr)
            self._handle_error(entries, e)
            raise
        finally:
            for entry in entries:
                finalize = getattr(entry.extension, "finalize", None)
                if finalize:
                    finalize()
            self.updater.finalize()

        self._final_elapsed_time = self.elapsed_time
        self._done = True

    def _loop(self, entries):
        update = self.updater.update
        scope = self.reporter.scope
        stop_trigger = self.stop_trigger
        while not stop_trigger(self):
            self.observation = {}
            with scope(self.observation):
                update()
                for entry in entries:
                    if entry.trigger(self):
                        entry.extension(self)

    def _handle_error(self, entries, error):
        for entry in entries:
            handler = getattr(entry.extension, "on_error", None)
            if handler:
                try:
                    handler(self, error, error.__traceback__)
                except Exception as e:
                    # The training's own error is raised later; first, all other handlers must run.
                    _print_exception("error handler", e)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the state of the updater, the triggers and the extensions, and the elapsed time."""
        self.updater.serialize(serializer["updater"])
        if hasattr(self.stop_trigger, "serialize"):
            self.stop_trigger.serialize(serializer["stop_trigger"])
        extensions = serializer["extensions"]
        triggers = serializer["extension_triggers"]
        for name, entry in self._extensions.items():
            if hasattr(entry.extension, "serialize"):
                entry.extension.serialize(extensions[name])
            if hasattr(entry.trigger, "serialize"):
                entry.trigger.serialize(triggers[name])
        if isinstance(serializer, serializer_module.Serializer):
            serializer("_snapshot_elapsed_time", self.elapsed_time)
        else:
            self._snapshot_elapsed_time = serializer("_snapshot_elapsed_time", 0.0)


def _get_name(extension):
    for attribute in ("name", "default_name", "__name__"):
        name = getattr(extension, attribute, None)
        if name is not None:
            return name
    raise TypeError(f"name is not given for the extension, and {extension!r} has none")


def _print_exception(place, error):
    print(f"Exception in {place}: {error}\nTraceback (most recent call last):", file=sys.stderr)
    traceback.print_tb(error.__traceback__)
