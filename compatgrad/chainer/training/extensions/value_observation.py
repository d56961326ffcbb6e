"""Extensions that add a value to the trainer's observation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.training import extension

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer.training.trainer import Trainer


def observe_value(observation_key: str, target_func: Callable[[Trainer], Any]) -> Callable[[Trainer], None]:
    """Makes an extension that adds a value to the trainer's observation, each epoch unless `Trainer.extend` gets
    another trigger; `LogReport` then writes it.

    Args:
        observation_key: name of the value in the observation.
        target_func: called with the trainer; returns the value.

    Returns:
        The extension.

    Raises:
        TypeError: when the extension is called, `target_func` is not callable.

    Example:
        >>> from types import SimpleNamespace
        >>> observe = chainer.training.extensions.observe_value
        >>> extension = observe("iterations", lambda trainer: trainer.updater.iteration)
        >>> trainer = SimpleNamespace(updater=SimpleNamespace(iteration=3), observation={})
        >>> extension(trainer)
        >>> trainer.observation
        {'iterations': 3}

    Source: `chainer.training.extensions.observe_value` of Chainer 7.8.1.
    """

    @extension.make_extension(trigger=(1, "epoch"), priority=extension.PRIORITY_WRITER)
    def _observe_value(trainer):
        trainer.observation[observation_key] = target_func(trainer)

    return _observe_value


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Callable[[Trainer], None]:
    """Makes an extension that adds an optimizer's attribute `lr` to the trainer's observation, each epoch unless
    `Trainer.extend` gets another trigger.

    Args:
        optimizer_name: name of the optimizer in the updater.
        observation_key: name of the value in the observation.

    Returns:
        The extension.

    Raises:
        AttributeError: when the extension is called, the optimizer has no `lr`.

    Example:
        >>> from types import SimpleNamespace
        >>> opt = chainer.optimizers.SGD(lr=0.5)
        >>> updater = SimpleNamespace(get_optimizer={"main": opt}.get)
        >>> trainer = SimpleNamespace(updater=updater, observation={})
        >>> chainer.training.extensions.observe_lr()(trainer)
        >>> trainer.observation
        {'lr': 0.5}

    Source: `chainer.training.extensions.observe_lr` of Chainer 7.8.1.
    """
    return observe_value(observation_key, lambda trainer: trainer.updater.get_optimizer(optimizer_name).lr)
