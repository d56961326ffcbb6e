"""The interface of updaters."""


class Updater:
    """Base class of updaters: `update` reads a batch and updates the parameters.

    A `Trainer` reads its attributes ``iteration``, ``epoch``, ``epoch_detail``, ``previous_epoch_detail`` and
    ``is_new_epoch``.
    """

    def connect_trainer(self, trainer):
        """Called when a trainer is made with this updater."""

    def finalize(self):
        """Called at the end of the training; finalizes the iterators."""
        raise NotImplementedError

    def get_optimizer(self, name):
        """Return an optimizer by its name."""
        raise NotImplementedError

    def get_all_optimizers(self):
        """Return a dict from names to optimizers."""
        raise NotImplementedError

    def update(self):
        """Run one iteration."""
        raise NotImplementedError

    def serialize(self, serializer):
        """Save or load the state."""
        raise NotImplementedError
