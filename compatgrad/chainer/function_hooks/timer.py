"""A hook that times functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import _profile, backend
from compatgrad.chainer.function_hook import FunctionHook

if TYPE_CHECKING:
    from compatgrad.chainer.function_node import FunctionNode


class TimerHook(_profile.Stopwatch, FunctionHook):
    """Measures how long each function runs, forward and backward: by the clock on the CPU, by events on a GPU. Its
    attribute `call_history` is a list of (name, seconds); `total_time`, `summary` and `print_report` sum them up.

    Example:
        >>> with chainer.function_hooks.TimerHook() as hook:
        ...     y = F.exp(np.array([1.0]))
        >>> [name for name, seconds in hook.call_history]
        ['Exp']

    Source: `chainer.function_hooks.TimerHook` of Chainer 7.8.1.
    """

    name = "TimerHook"
    _header = "FunctionName"

    def forward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Starts the clock."""
        self._start(backend.get_array_module(*in_data))

    def backward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Starts the clock."""
        self._start(backend.get_array_module(*in_data, *out_grad))

    def forward_postprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Stops the clock."""
        self._stop(function._impl_name)

    def backward_postprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Stops the clock."""
        self._stop(function._impl_name)
