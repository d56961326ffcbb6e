"""An extension that shows a progress bar."""

from __future__ import annotations

import datetime  # noqa: F401  programs find it here, as in Chainer
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import util

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer


class ProgressBar(extension.Extension):
    """Shows the progress and the speed of a training.

    Args:
        training_length: length of the training, a number and "epoch" or "iteration"; None is that of the trainer's stop
            trigger.
        update_interval: number of iterations between updates of the bar.
        bar_length: number of characters of a bar.
        out: file that takes the text; None is the standard output.

    Raises:
        AttributeError: when the extension is called, `training_length` is None and the stop trigger has no length.

    Example:
        >>> import io
        >>> from compatgrad.chainer import testing
        >>> out = io.StringIO()
        >>> bar = chainer.training.extensions.ProgressBar(update_interval=1, bar_length=10, out=out)
        >>> testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[bar]).run()
        >>> "total [#####.....] 50.00%" in out.getvalue()
        True

    Source: `chainer.training.extensions.ProgressBar` of Chainer 7.8.1.
    """

    def __init__(
        self,
        training_length: tuple[float, str] | None = None,
        update_interval: int = 100,
        bar_length: int = 50,
        out: Any = None,
    ) -> None:
        self._training_length = training_length
        self._update_interval = update_interval
        self._pbar = _TrainerProgressBar(bar_length, out)
        self._pbar.training_length = training_length

    def __call__(self, trainer: Trainer) -> None:
        self._pbar.trainer = trainer
        if trainer.updater.iteration % self._update_interval == 0:
            self._pbar.update()

    def finalize(self) -> None:
        """Removes the bar."""
        self._pbar.close()


class _TrainerProgressBar(util.ProgressBar):
    trainer = None
    training_length = None

    def get_lines(self):
        updater = self.trainer.updater
        iteration, epoch = updater.iteration, updater.epoch_detail
        if self.training_length is None:
            self.training_length = self.trainer.stop_trigger.get_training_length()
        length, unit = self.training_length
        done = iteration if unit == "iteration" else epoch
        speed_t, speed_e = self.update_speed(iteration, epoch)
        speed = speed_t if unit == "iteration" else speed_e
        seconds = max((length - done) / speed, 0.0) if speed else 0.0
        return [
            self.format_bar("     total", min(done / length, 1.0)),
            self.format_bar("this epoch", epoch - int(epoch)),
            f"{iteration:10} iter, {updater.epoch} epoch / {length} {unit}s\n",
            self._format_speed(speed_t, seconds),
        ]
