"""Snapshots of a training."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.configuration import is_debug
from compatgrad.chainer.serializers import npz
from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import snapshot_writers

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer


def _find_snapshot_files(fmt, path):
    """Return sorted pairs (time, name) of the files in a folder whose names match the beginning and the end of the
    format."""
    prefix = fmt.split("{")[0]
    suffix = fmt.split("}")[-1]
    return sorted(
        (os.stat(os.path.join(path, name)).st_mtime, name)
        for name in os.listdir(path)
        if name.startswith(prefix) and name.endswith(suffix)
    )


def _find_latest_snapshot(fmt, path):
    """Return the name of the newest snapshot, or None."""
    files = _find_snapshot_files(fmt, path)
    return files[-1][1] if files else None


def _find_stale_snapshots(fmt, path, n_retains, **kwargs):
    """Yield the names of all snapshots but the newest `n_retains`."""
    n_retains = _get_n_retains("_find_stale_snapshots", n_retains, kwargs)
    files = _find_snapshot_files(fmt, path)
    for _, name in files[: max(len(files) - n_retains, 0)]:
        yield name


def _get_n_retains(name, n_retains, kwargs):
    """Read `num_retain`, the old name of `n_retains`, from `kwargs`, which may contain nothing else."""
    if "num_retain" in kwargs:
        warnings.warn(
            "Argument `num_retain` is deprecated. Please use `n_retains` instead", DeprecationWarning, stacklevel=3
        )
        n_retains = kwargs.pop("num_retain")
    if kwargs:
        raise TypeError(f"{name}() got unexpected keyword argument(s) {', '.join(map(repr, sorted(kwargs)))}")
    return n_retains


def snapshot_object(
    target: Any,
    filename: str | Callable[[Trainer], str],
    savefun: Callable[[str, Any], None] | None = None,
    *,
    condition: Callable[[], bool] | None = None,
    writer: Any = None,
    snapshot_on_error: bool = False,
    n_retains: int = -1,
    autoload: bool = False,
    **kwargs: Any,
) -> extension.Extension:
    """Makes an extension that saves an object, such as the model, in the trainer's output folder, each epoch if no
    trigger is given to `Trainer.extend`.

    Args:
        target: the object, which has a method `serialize`.
        filename: name of the file, formatted with the trainer, or a function of it.
        savefun: saves the object under a path; None is `save_npz`.
        condition: called without arguments at each call; returns whether to save. None always saves.
        writer: a writer of `snapshot_writers`, instead of `savefun`.
        snapshot_on_error: True also saves when an exception ends the training.
        n_retains: number of files kept, the newest ones; -1 keeps all.
        autoload: True loads the newest npz file of that name before the training.
        **kwargs: `num_retain`: deprecated name of `n_retains`.

    Returns:
        The extension.

    Raises:
        TypeError: both `savefun` and `writer` are given, or an unknown keyword is.

    Example:
        >>> import os
        >>> from compatgrad.chainer import testing
        >>> save = chainer.training.extensions.snapshot_object(L.Linear(1, 1), "model_{.updater.iteration}")
        >>> trainer = testing.get_trainer_with_mock_updater((2, "epoch"), 3, [save])
        >>> trainer.run()
        >>> sorted(name for name in os.listdir(trainer.out) if name.startswith("model"))
        ['model_3', 'model_6']

    Source: `chainer.training.extensions.snapshot_object` of Chainer 7.8.1.
    """
    return snapshot(
        savefun,
        filename,
        target=target,
        condition=condition,
        writer=writer,
        snapshot_on_error=snapshot_on_error,
        n_retains=_get_n_retains("snapshot_object", n_retains, kwargs),
        autoload=autoload,
    )


def snapshot(
    savefun: Callable[[str, Any], None] | None = None,
    filename: str | Callable[[Trainer], str] = "snapshot_iter_{.updater.iteration}",
    *,
    target: Any = None,
    condition: Callable[[], bool] | None = None,
    writer: Any = None,
    snapshot_on_error: bool = False,
    n_retains: int = -1,
    autoload: bool = False,
    **kwargs: Any,
) -> extension.Extension:
    """Makes an extension that saves the trainer, from which the training can be resumed, in its output folder, each
    epoch if no trigger is given to `Trainer.extend`.

    Args:
        savefun: saves the object under a path; None is `save_npz`.
        filename: name of the file, formatted with the trainer, or a function of it.
        target: another object to save; None is the trainer.
        condition: called without arguments at each call; returns whether to save. None always saves.
        writer: a writer of `snapshot_writers`, instead of `savefun`.
        snapshot_on_error: True also saves when an exception ends the training.
        n_retains: number of files kept, the newest ones; -1 keeps all.
        autoload: True loads the newest npz file of that name before the training.
        **kwargs: `num_retain`: deprecated name of `n_retains`.

    Returns:
        The extension.

    Raises:
        TypeError: both `savefun` and `writer` are given, or an unknown keyword is.

    Example:
        >>> import os
        >>> from compatgrad.chainer import testing
        >>> save = chainer.training.extensions.snapshot(target=L.Linear(1, 1), n_retains=1)
        >>> trainer = testing.get_trainer_with_mock_updater((2, "epoch"), 3, [save])
        >>> trainer.run()
        >>> [name for name in os.listdir(trainer.out) if name.startswith("snapshot")]
        ['snapshot_iter_6']

    Source: `chainer.training.extensions.snapshot` of Chainer 7.8.1.
    """
    n_retains = _get_n_retains("snapshot", n_retains, kwargs)
    if savefun is not None and writer is not None:
        raise TypeError("savefun and writer arguments cannot be specified together.")
    if writer is None:
        writer = snapshot_writers.SimpleWriter(savefun=npz.save_npz if savefun is None else savefun)
    return _Snapshot(target, condition, writer, filename, snapshot_on_error, n_retains, autoload)


def _always_true():
    return True


class _Snapshot(extension.Extension):
    trigger = 1, "epoch"
    priority = -100

    def __init__(
        self,
        target=None,
        condition=None,
        writer=None,
        filename="snapshot_iter_{.updater.iteration}",
        snapshot_on_error=False,
        n_retains=-1,
        autoload=False,
        **kwargs,
    ):
        self._target = target
        self.filename = filename
        self.condition = _always_true if condition is None else condition
        self.writer = snapshot_writers.SimpleWriter() if writer is None else writer
        self._snapshot_on_error = snapshot_on_error
        self.n_retains = _get_n_retains("_Snapshot", n_retains, kwargs)
        self.autoload = autoload

    def _get_target(self, trainer):
        return trainer if self._target is None else self._target

    def initialize(self, trainer):
        outdir = trainer.out
        if self.autoload:
            self._load(trainer)
        if self.n_retains > 0 and isinstance(self.filename, str) and hasattr(self.writer, "_add_cleanup_hook"):

            def remove_stale():
                for name in _find_stale_snapshots(self.filename, outdir, self.n_retains):
                    os.remove(os.path.join(outdir, name))

            self.writer._add_cleanup_hook(remove_stale)

    def _load(self, trainer):
        name = _find_latest_snapshot(self.filename, trainer.out)
        if name is not None:
            path = os.path.join(trainer.out, name)
            npz.load_npz(path, self._get_target(trainer))
        if is_debug():
            print(
                f"No snapshot file that matches {self.filename} was found"
                if name is None
                else f"Snapshot loaded from {path}"
            )

    def on_error(self, trainer, exc, tb):
        if self._snapshot_on_error:
            self._make_snapshot(trainer)

    def __call__(self, trainer):
        if self.condition():
            self._make_snapshot(trainer)

    def _make_snapshot(self, trainer):
        target = npz.serialize(self._get_target(trainer))
        filename = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(filename, trainer.out, target)

    def finalize(self):
        if hasattr(self.writer, "finalize"):
            self.writer.finalize()
