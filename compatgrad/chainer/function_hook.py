"""`FunctionHook`, as Chainer's `chainer.function_hook` has it."""

from __future__ import annotations

from compatgrad import _C
from compatgrad.core import hooks


class FunctionHook(hooks.FunctionHook):
    """Base class of hooks that see every function run, forward and backward. A subclass overrides some of `added`,
    `deleted`, `forward_preprocess`, `forward_postprocess`, `backward_preprocess` and `backward_postprocess`. As a
    context manager a hook sees all functions of the thread; `FunctionNode.add_hook` registers it with one. Entering a
    hook whose `name` is active already raises KeyError.

    Example:
        >>> class Names(chainer.FunctionHook):
        ...     def forward_postprocess(self, function, in_data):
        ...         print(function.label, [x.shape for x in in_data])
        >>> with Names():
        ...     y = F.exp(np.zeros((2, 3), np.float32))
        exp [(2, 3)]

    Source: `chainer.FunctionHook` of Chainer 7.8.1.
    """

    name = "FunctionHook"


def get_function_hooks() -> dict[str, FunctionHook]:
    """The hooks that see every function of this thread.

    Returns:
        The thread's dictionary of active hooks by name; a program may add hooks to it.

    Example:
        >>> with chainer.function_hooks.TimerHook():
        ...     list(chainer.get_function_hooks())
        ['TimerHook']

    Source: `chainer.get_function_hooks` of Chainer 7.8.1.
    """
    return _C.function_hooks()
