"""Hooks that are called at every `Link.__call__` of a thread, or of one link."""

from __future__ import annotations

import collections
import threading
from typing import Any

from compatgrad import _C


class _ThreadHooks(threading.local):
    hooks = None  # an OrderedDict after the first call of `_get_link_hooks` in this thread


_thread = _ThreadHooks()


def _get_link_hooks():
    """The thread's hooks by name, in the order in which they were entered."""
    if _thread.hooks is None:
        _thread.hooks = collections.OrderedDict()
    return _thread.hooks


class _CallbackArgs:
    def __repr__(self):
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"<{type(self).__name__} {values}>"


class _ForwardPreprocessCallbackArgs(_CallbackArgs):
    """The argument of a hook before a link's forward: `link`, `forward_name`, `args`, `kwargs`."""

    def __init__(self, link, forward_name, args, kwargs):
        self.link = link
        self.forward_name = forward_name
        self.args = args
        self.kwargs = kwargs


class _ForwardPostprocessCallbackArgs(_CallbackArgs):
    """The argument of a hook after a link's forward: also has the result `out`."""

    def __init__(self, link, forward_name, args, kwargs, out):
        self.link = link
        self.forward_name = forward_name
        self.args = args
        self.kwargs = kwargs
        self.out = out


class LinkHook(_C.HookBlock):
    """Base class of hooks that see links being called. As a context manager a hook sees all links of the thread;
    `Link.add_hook` registers it with one. A second hook of the same `name` in the same place raises KeyError.

    Example:
        >>> class Names(chainer.LinkHook):
        ...     name = "Names"
        ...     def forward_postprocess(self, args):
        ...         print(type(args.link).__name__, args.out.shape)
        >>> with Names():
        ...     y = L.Linear(2, 3)(np.zeros((1, 2), np.float32))
        Linear (1, 3)

    Source: `chainer.LinkHook` of Chainer 7.8.1.
    """

    name = "LinkHook"
    _hooks_of_thread = _thread  # `__exit__`, which is compiled, finds the thread's hooks in it

    def __init__(self) -> None:  # without this the compiled base class would accept any arguments
        super().__init__()

    def __enter__(self):
        hooks = _get_link_hooks()
        if self.name in hooks:
            raise KeyError(f"hook {self.name} already exists")
        try:
            hooks[self.name] = self
            self.added(None)
        except BaseException:
            hooks.pop(self.name, None)  # a hook that could not start must not stay in the thread
            raise
        return self

    def added(self, link: Any) -> None:
        """Called when the hook is registered; `link` is None for the thread's hooks."""

    def deleted(self, link: Any) -> None:
        """Called when the hook is removed; `link` is None for the thread's hooks."""

    def forward_preprocess(self, args: Any) -> None:
        """Called before the forward of a link; `args` has attributes `link`, `forward_name`, `args` and `kwargs`."""

    def forward_postprocess(self, args: Any) -> None:
        """Called after the forward of a link; `args` also has the result, `out`."""
