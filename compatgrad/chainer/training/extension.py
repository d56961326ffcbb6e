"""`Extension`, the base class of the callables that a trainer calls after updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer

PRIORITY_WRITER = 300
PRIORITY_EDITOR = 200
PRIORITY_READER = 100

_REMOVED = "invoke_before_training has been removed since Chainer v2.0.0. Use {} instead."


class Extension:
    """Base class of extensions, callables that take the trainer. Class attributes are the defaults of `Trainer.extend`:
    `trigger`, how often it is called; `priority`, of which higher ones are called first; and `name`. By convention,
    extensions that add values to the trainer's observation have PRIORITY_WRITER, those that change values
    PRIORITY_EDITOR, and those that read values PRIORITY_READER, the lowest.

    Example:
        >>> from compatgrad.chainer import testing
        >>> class Hello(chainer.training.Extension):
        ...     trigger = 2, "iteration"
        ...     def __call__(self, trainer):
        ...         print("iteration", trainer.updater.iteration)
        >>> testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[Hello()]).run()
        iteration 2
        iteration 4

    Source: `chainer.training.Extension` of Chainer 7.8.1.
    """

    trigger = 1, "iteration"
    priority = PRIORITY_READER
    name = None

    @property
    def default_name(self):
        """The name if `name` is None: the name of the class."""
        return type(self).__name__

    def __call__(self, trainer):
        raise NotImplementedError("Extension implementation must override __call__.")

    def __getattr__(self, name):
        if name == "invoke_before_training":
            raise AttributeError(_REMOVED.format("Extension.initialize"))
        raise AttributeError(f"{type(self).__name__} object has no attribute {name}")

    def finalize(self) -> None:
        """Called at the end of the training."""

    def initialize(self, trainer: Any) -> None:
        """Called before the training, also when it is resumed: sets state that snapshots do not contain."""

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Called when an exception ends the training, before `finalize`; `tb` is its traceback."""

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads the state."""


def make_extension(
    trigger: Any = None,
    default_name: str | None = None,
    priority: int | None = None,
    finalizer: Callable[[], None] | None = None,
    initializer: Callable[[Any], None] | None = None,
    on_error: Callable[[Any, Exception, Any], None] | None = None,
    **kwargs: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator that turns a function of the trainer into an extension. The arguments become attributes of the
    function.

    Args:
        trigger: how often it is called, a trigger or a pair of number and unit; None is each iteration.
        default_name: name of the extension; None is that of the function.
        priority: priority; None is PRIORITY_READER.
        finalizer: called at the end of the training.
        initializer: called with the trainer before the training.
        on_error: called with the trainer, the exception and its traceback when an exception ends the training.
        **kwargs: none; `invoke_before_training`, which Chainer 2 removed, raises an error that names the replacement.

    Returns:
        The decorator.

    Raises:
        TypeError: another keyword is given.
        ValueError: `invoke_before_training` is given.

    Example:
        >>> from compatgrad.chainer import testing
        >>> @chainer.training.make_extension(trigger=(2, "iteration"))
        ... def hello(trainer):
        ...     print("iteration", trainer.updater.iteration)
        >>> testing.get_trainer_with_mock_updater((4, "iteration"), extensions=[hello]).run()
        iteration 2
        iteration 4

    Source: `chainer.training.make_extension` of Chainer 7.8.1.
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
