"""`Trainer`, the loop over epochs and iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["Trainer"]


class Trainer:
    """Runs the training that a `Worker` defines, starting at the epoch of the worker's checkpoint.

    Args:
        worker: defines the steps of the training.

    Example:
        >>> from compatgrad.nnabla.experimental.framework import Trainer, Worker
        >>> class Talking(Worker):
        ...     def epoch_loop_start(self, e):
        ...         print("epoch", e)
        >>> Trainer(Talking(None, max_epoch=2)).train()
        epoch 0
        epoch 1

    Source: `nnabla.experimental.framework.Trainer` of nnabla 1.39.0.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.start_epoch = 0

    def train(self) -> None:
        """Runs the worker's methods in order, from loading a checkpoint to saving the model."""
        worker = self.worker
        self.start_epoch = worker.load_checkpoint()
        worker.training_prepare()
        worker.save_model_at_start()
        for epoch in range(self.start_epoch, self.start_epoch + worker.max_epoch()):
            worker.epoch_loop_start(epoch)
            worker.evaluate_at_epoch_start(epoch)
            for i in range(worker.iter_per_epoch()):
                worker.iter_loop_start(i, epoch)
                worker.update_in_iteration(i, epoch)
                worker.iter_loop_end(i, epoch)
            worker.epoch_loop_end(epoch)
            worker.save_checkpoint_at_epoch_end(epoch)
        worker.evaluate_at_training_end()
        worker.save_model_at_end()
        worker.training_complete()

    def brief(self) -> Any:
        """The worker's description of itself."""
        return self.worker.brief()
