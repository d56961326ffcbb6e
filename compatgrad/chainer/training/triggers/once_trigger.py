"""A trigger that fires once."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


class OnceTrigger:
    """Fires at its first call only.

    Args:
        call_on_resume: True makes it fire at the first call after a snapshot was loaded, too.

    Example:
        >>> trigger = chainer.training.triggers.OnceTrigger()
        >>> trigger(None), trigger(None), trigger.finished
        (True, False, True)

    Source: `chainer.training.triggers.OnceTrigger` of Chainer 7.8.1.
    """

    def __init__(self, call_on_resume: bool = False) -> None:
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self) -> bool:
        """True when it will not fire again."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, trainer: Trainer) -> bool:
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads whether it has fired; after a snapshot without this entry it counts as fired, with a
        warning."""
        try:
            self._flag_first = serializer("_flag_first", self._flag_first)
        except KeyError:
            warnings.warn(
                "The flag is not saved. OnceTrigger guess it is not first when resumed. "
                "If this trigger is resumed before first called, it may not work correctly.",
                stacklevel=2,
            )
            self._flag_first = False
