"""Trainers with a mock updater, which trains nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer


def is_available() -> bool:
    """Whether mocks can be made: always, because they come from the standard library.

    Returns:
        True.

    Example:
        >>> from compatgrad.chainer.testing import training
        >>> training.is_available()
        True

    Source: `chainer.testing.training.is_available` of Chainer 7.8.1.
    """
    return True


def check_available() -> None:
    """Does nothing: the mocks can always be made.

    Example:
        >>> from compatgrad.chainer.testing import training
        >>> training.check_available()

    Source: `chainer.testing.training.check_available` of Chainer 7.8.1.
    """


def get_error() -> None:
    """The reason why mocks cannot be made: none.

    Example:
        >>> from compatgrad.chainer.testing import training
        >>> training.get_error() is None
        True

    Source: `chainer.testing.training.get_error` of Chainer 7.8.1.
    """


def get_trainer_with_mock_updater(
    stop_trigger: Any = (10, "iteration"), iter_per_epoch: int = 10, extensions: Sequence[Any] | None = None
) -> Trainer:
    """Makes a trainer that trains nothing, to test extensions and triggers: its updater is a mock that only counts
    iterations and epochs.

    Args:
        stop_trigger: when to stop, a trigger or a pair of number and unit.
        iter_per_epoch: number of iterations of an epoch.
        extensions: extensions of the trainer.

    Returns:
        The trainer.

    Raises:
        ValueError: the unit of `stop_trigger` is neither "iteration" nor "epoch".
        ZeroDivisionError: when it runs, `iter_per_epoch` is 0.

    Example:
        >>> from compatgrad.chainer import testing
        >>> trainer = testing.get_trainer_with_mock_updater((2, "epoch"), iter_per_epoch=5)
        >>> trainer.run()
        >>> trainer.updater.iteration, trainer.updater.epoch_detail
        (10, 2.0)

    Source: `chainer.testing.get_trainer_with_mock_updater` of Chainer 7.8.1.
    """
    from compatgrad.chainer import training

    updater = mock.Mock()
    updater.get_all_optimizers.return_value = {}
    updater.iteration = 0
    updater.epoch = 0
    updater.epoch_detail = 0
    updater.is_new_epoch = True
    updater.previous_epoch_detail = None

    def update():
        updater.update_core()
        before = updater.iteration
        updater.iteration = now = before + 1
        updater.epoch = now // iter_per_epoch
        updater.epoch_detail = now / iter_per_epoch
        updater.is_new_epoch = before // iter_per_epoch != updater.epoch
        updater.previous_epoch_detail = before / iter_per_epoch

    updater.update = update
    return training.Trainer(updater, stop_trigger, extensions=[] if extensions is None else extensions)
