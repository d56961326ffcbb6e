"""Values that nobody reports."""

from compatgrad.chainer.training import extension


def observe_value(observation_key, target_func):
    """Make an extension that adds ``target_func(trainer)`` to the observation, each epoch by default."""

    @extension.make_extension(trigger=(1, "epoch"), priority=extension.PRIORITY_WRITER)
    def _observe_value(trainer):
        trainer.observation[observation_key] = target_func(trainer)

    return _observe_value


def observe_lr(optimizer_name="main", observation_key="lr"):
    """Make an extension that adds an optimizer's learning rate to the observation, each epoch by default."""
    return observe_value(observation_key, lambda trainer: trainer.updater.get_optimizer(optimizer_name).lr)
