"""Trainers that train nothing."""

from unittest import mock


def is_available():
    """True: the mocks are those of the standard library."""
    return True


def check_available():
    """Does nothing, see `is_available`."""


def get_error():
    """None, see `is_available`."""


def get_trainer_with_mock_updater(stop_trigger=(10, "iteration"), iter_per_epoch=10, extensions=None):
    """Make a `Trainer` whose updater is a mock that counts iterations and epochs as a real one does."""
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
