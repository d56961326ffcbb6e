"""A hook that measures the GPU memory which functions take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from compatgrad.chainer import _profile
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.function_hook import FunctionHook

if TYPE_CHECKING:
    from compatgrad.chainer.function_node import FunctionNode

_UNITS = ["B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB"]


class CupyMemoryProfileHook(FunctionHook):
    """Measures the memory that each function takes from torch's pool on the GPU, and that the pool takes from the GPU
    for it. Its attribute `call_history` is a list of (name, used bytes, acquired bytes, depth of nesting). Memory that
    was freed in the meantime still counts as used.

    Raises:
        RuntimeError: CUDA is not available.

    Example:
        with chainer.function_hooks.CupyMemoryProfileHook() as hook:
            y = model(x)
        hook.print_report()

    Source: `chainer.function_hooks.CupyMemoryProfileHook` of Chainer 7.8.1.
    """

    name = "CupyMemoryProfileHook"

    def __init__(self) -> None:
        cuda.check_cuda_available()
        self.call_history = []
        self._running_stack = []
        self._total_used_bytes = 0
        self._total_acquired_bytes = 0

    @staticmethod
    def _allocated():
        # Both counters only grow: memory that was freed in the meantime still counts as used.
        stats = torch.cuda.memory_stats()
        return stats["allocated_bytes.all.allocated"], stats["reserved_bytes.all.allocated"]

    def forward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Reads the counters."""
        self._running_stack.append(self._allocated())

    def backward_preprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Reads the counters."""
        self._running_stack.append(self._allocated())

    def forward_postprocess(self, function: FunctionNode, in_data: tuple[Any, ...]) -> None:
        """Records how much the counters grew."""
        used, acquired = self._running_stack.pop()
        used_now, acquired_now = self._allocated()
        used, acquired = used_now - used, acquired_now - acquired
        depth = len(self._running_stack)
        self.call_history.append((function._impl_name, used, acquired, depth))
        if depth == 0:
            self._total_used_bytes += used
            self._total_acquired_bytes += acquired

    def backward_postprocess(self, function: FunctionNode, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Records how much the counters grew."""
        self.forward_postprocess(function, in_data)

    def total_used_bytes(self) -> int:
        """Bytes that functions took from the pool."""
        return self._total_used_bytes

    def total_acquired_bytes(self) -> int:
        """Bytes that the pool took from the GPU."""
        return self._total_acquired_bytes

    def summary(self) -> dict[str, dict[str, int]]:
        """A dictionary of name to {'used_bytes', 'acquired_bytes', 'occurrence'}, in order of calls."""
        summary = {}
        for name, used, acquired, _ in self.call_history:
            record = summary.setdefault(name, {"used_bytes": 0, "acquired_bytes": 0, "occurrence": 0})
            record["used_bytes"] += used
            record["acquired_bytes"] += acquired
            record["occurrence"] += 1
        return summary

    def print_report(self, unit: str = "auto", file: Any = sys.stdout) -> None:
        """Writes a table of `summary` to `file`.

        `unit` is ``'B'``, ``'KB'``, … ``'ZB'``, ``'auto'`` (by the largest value) or ``'auto_foreach'``.
        """
        header = ["FunctionName", "UsedBytes", "AcquiredBytes", "Occurrence"]
        names = ["used_bytes", "acquired_bytes"]
        _profile.write_table(_profile.format_columns(self.summary(), names, header, unit, _UNITS, 1024.0), file)
