"""What a trainer calls between updates."""

from compatgrad.chainer.utils import argument

PRIORITY_WRITER = 300
PRIORITY_EDITOR = 200
PRIORITY_READER = 100

_REMOVED = "invoke_before_training has been removed since Chainer v2.0.0. Use {} instead."


class Extension:
    """Base class of extensions, callables that take the trainer.

    ``trigger``, ``priority`` and ``name`` are defaults of `Trainer.extend`. Of the priorities, writers add
    values to the trainer's observation, editors change them, readers come last.
    """

    trigger = 1, "iteration"
    priority = PRIORITY_READER
    name = None

    @property
    def default_name(self):
        """Name where `name` is None: that of the class."""
        return type(self).__name__

    def __call__(self, trainer):
        raise NotImplementedError("Extension implementation must override __call__.")

    def __getattr__(self, name):
        if name == "invoke_before_training":
            raise AttributeError(_REMOVED.format("Extension.initialize"))
        raise AttributeError(f"{type(self).__name__} object has no attribute {name}")

    def finalize(self):
        """Called at the end of the training."""

    def initialize(self, trainer):
        """Called before the training, also when it is resumed: sets what snapshots do not hold."""

    def on_error(self, trainer, exc, tb):
        """Called when an exception ends the training, before `finalize`; `tb` is its traceback."""

    def serialize(self, serializer):
        """Save or load the state."""


def make_extension(
    trigger=None, default_name=None, priority=None, finalizer=None, initializer=None, on_error=None, **kwargs
):
    """Decorator: make an extension of a function of the trainer; the arguments are those of `Extension`.

    Raises ValueError for ``invoke_before_training``, TypeError for other unknown arguments.
    """
    argument.check_unexpected_kwargs(kwargs, invoke_before_training=_REMOVED.format("initializer="))
    argument.assert_kwargs_empty(kwargs)

    def decorator(ext):
        ext.trigger = Extension.trigger if trigger is None else trigger
        ext.default_name = default_name or ext.__name__
        ext.priority = Extension.priority if priority is None else priority
        ext.finalize = finalizer
        ext.on_error = on_error
        ext.initialize = initializer
        return ext

    return decorator
