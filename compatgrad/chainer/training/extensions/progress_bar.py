"""The progress bar of a training."""

import datetime

from compatgrad.chainer.training import extension
from compatgrad.chainer.training.extensions import util


class ProgressBar(extension.Extension):
    """Shows progress and speed every `update_interval` iterations.

    `training_length`: ``(number, "epoch" or "iteration")``, by default that of the trainer's stop trigger.
    `bar_length`: characters of a bar. `out`: where to print.
    """

    def __init__(self, training_length=None, update_interval=100, bar_length=50, out=None):
        self._training_length = training_length
        self._update_interval = update_interval
        self._pbar = _TrainerProgressBar(bar_length, out)
        self._pbar.training_length = training_length

    def __call__(self, trainer):
        self._pbar.trainer = trainer
        if trainer.updater.iteration % self._update_interval == 0:
            self._pbar.update()

    def finalize(self):
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
            f"{speed_t:10.5g} iters/sec. Estimated time to finish: {datetime.timedelta(seconds=seconds)}.\n",
        ]
