"""Timing of links."""

from __future__ import annotations

from typing import Any

from compatgrad.chainer import _profile
from compatgrad.chainer.link_hook import LinkHook


class TimerHook(_profile.Stopwatch, LinkHook):
    """Measures how long the forward of each link runs, with the links inside it: by the clock on the CPU, by events on
    a GPU. Its attribute `call_history` is a list of (name, seconds); `total_time`, `summary` and `print_report` sum
    them up.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> with link_hooks.TimerHook() as hook:
        ...     y = L.Linear(2, 3)(np.zeros((1, 2), np.float32))
        >>> [name for name, seconds in hook.call_history]
        ['Linear']

    Source: `chainer.link_hooks.TimerHook` of Chainer 7.8.1.
    """

    name = "TimerHook"
    _header = "LinkName"

    def forward_preprocess(self, args: Any) -> None:
        """Starts the clock."""
        self._start(args.link.xp)

    def forward_postprocess(self, args: Any) -> None:
        """Stops the clock."""
        self._stop(type(args.link).__name__)
