"""Base class of the triggers that count iterations or epochs."""

import warnings


class ProgressTrigger:
    """Base class of triggers that compare the progress with that at their last call.

    `unit`: "iteration" or "epoch"; another value raises ValueError.
    """

    def __init__(self, unit):
        if unit not in ("epoch", "iteration"):
            raise ValueError(f"Trigger unit must be either 'epoch' or 'iteration'. Actual: {unit!r}")
        self.unit = unit
        # Negative where it is unknown, after an old snapshot was loaded.
        self._previous_iteration = 0
        self._previous_epoch_detail = 0.0

    def _advance(self, updater):
        """Return the progress at the previous call and the current progress."""
        if self.unit == "epoch":
            previous, current = self._previous_epoch_detail, updater.epoch_detail
            if previous < 0:
                previous = updater.previous_epoch_detail
        else:
            previous, current = self._previous_iteration, updater.iteration
            if previous < 0:
                previous = current - 1
        self._previous_iteration = updater.iteration
        if hasattr(updater, "epoch_detail"):
            self._previous_epoch_detail = updater.epoch_detail
        return previous, current

    def _serialize_previous(self, serializer, name, guess):
        attribute = f"_previous_{name}"
        try:
            setattr(self, attribute, serializer(f"previous_{name}", getattr(self, attribute)))
        except KeyError:
            warnings.warn(
                f"The previous value of {name} is not saved. {type(self).__name__} {guess}. "
                "If this trigger is not called at every iteration, it may not work correctly.",
                stacklevel=3,
            )
            setattr(self, attribute, -1)

    def serialize(self, serializer):
        self._serialize_previous(serializer, "iteration", "guesses it using current iteration")
        self._serialize_previous(serializer, "epoch_detail", "uses the value of trainer.updater.previous_epoch_detail")
