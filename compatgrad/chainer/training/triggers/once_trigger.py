"""Triggers at the start."""

import warnings


class OnceTrigger:
    """Fires at the first iteration, with `call_on_resume` also at the first after a snapshot was loaded."""

    def __init__(self, call_on_resume=False):
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self):
        """Whether it will not fire again."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, trainer):
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer):
        try:
            self._flag_first = serializer("_flag_first", self._flag_first)
        except KeyError:
            warnings.warn(
                "The flag is not saved. OnceTrigger guess it is not first when resumed. "
                "If this trigger is resumed before first called, it may not work correctly.",
                stacklevel=2,
            )
            self._flag_first = False
