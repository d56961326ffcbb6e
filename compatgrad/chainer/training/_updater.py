"""The base class of updaters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatgrad.chainer.optimizer import Optimizer
    from compatgrad.chainer.serializer import AbstractSerializer


class Updater:
    """Base class of updaters: `update` reads a batch and updates the parameters. A `Trainer` also reads the attributes
    `iteration`, `epoch`, `epoch_detail`, `previous_epoch_detail` and `is_new_epoch`.

    Example:
        >>> class Nothing(chainer.training.Updater):
        ...     iteration = 0
        ...     def get_all_optimizers(self):
        ...         return {}
        ...     def update(self):
        ...         self.iteration += 1
        ...     def finalize(self):
        ...         print(self.iteration, "iterations")
        >>> chainer.training.Trainer(Nothing(), (3, "iteration")).run()
        3 iterations

    Source: `chainer.training.Updater` of Chainer 7.8.1.
    """

    def connect_trainer(self, trainer: Any) -> None:
        """Called when a trainer is made with this updater."""

    def finalize(self) -> None:
        """Called at the end of the training; finalizes the iterators."""
        raise NotImplementedError

    def get_optimizer(self, name: str) -> Optimizer:
        """The optimizer with the given name."""
        raise NotImplementedError

    def get_all_optimizers(self) -> dict[str, Optimizer]:
        """A dict of the optimizers by name."""
        raise NotImplementedError

    def update(self) -> None:
        """Runs one iteration."""
        raise NotImplementedError

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the state."""
        raise NotImplementedError
