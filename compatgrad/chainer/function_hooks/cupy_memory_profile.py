"""Memory that functions take on the GPU."""

import sys

import torch

from compatgrad.chainer import _profile
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.function_hook import FunctionHook

_UNITS = ["B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB"]


class CupyMemoryProfileHook(FunctionHook):
    """Measures the memory that each function takes from torch's pool, and that the pool takes from the GPU
    for it.

    `call_history` is a list of (name, used bytes, acquired bytes, depth of nesting). Raises RuntimeError
    without CUDA.
    """

    name = "CupyMemoryProfileHook"

    def __init__(self):
        cuda.check_cuda_available()
        self.call_history = []
        self._running_stack = []
        self._total_used_bytes = 0
        self._total_acquired_bytes = 0

    @staticmethod
    def _allocated():
        # Both only grow: what was freed in the meantime still counts as used.
        stats = torch.cuda.memory_stats()
        return stats["allocated_bytes.all.allocated"], stats["reserved_bytes.all.allocated"]

    def forward_preprocess(self, function, in_data):
        self._running_stack.append(self._allocated())

    def backward_preprocess(self, function, in_data, out_grad):
        self._running_stack.append(self._allocated())

    def forward_postprocess(self, function, in_data):
        used, acquired = self._running_stack.pop()
        used_now, acquired_now = self._allocated()
        used, acquired = used_now - used, acquired_now - acquired
        depth = len(self._running_stack)
        self.call_history.append((function._impl_name, used, acquired, depth))
        if depth == 0:
            self._total_used_bytes += used
            self._total_acquired_bytes += acquired

    def backward_postprocess(self, function, in_data, out_grad):
        self.forward_postprocess(function, in_data)

    def total_used_bytes(self):
        """Bytes that functions took from the pool."""
        return self._total_used_bytes

    def total_acquired_bytes(self):
        """Bytes that the pool took from the GPU."""
        return self._total_acquired_bytes

    def summary(self):
        """A dictionary of name to {'used_bytes', 'acquired_bytes', 'occurrence'}, in order of calls."""
        summary = {}
        for name, used, acquired, _ in self.call_history:
            record = summary.setdefault(name, {"used_bytes": 0, "acquired_bytes": 0, "occurrence": 0})
            record["used_bytes"] += used
            record["acquired_bytes"] += acquired
            record["occurrence"] += 1
        return summary

    def print_report(self, unit="auto", file=sys.stdout):
        """Writes a table of `summary` to `file`.

        `unit` is ``'B'``, ``'KB'``, … ``'ZB'``, ``'auto'`` (by the largest value) or ``'auto_foreach'``.
        """
        header = ["FunctionName", "UsedBytes", "AcquiredBytes", "Occurrence"]
        names = ["used_bytes", "acquired_bytes"]
        _profile.write_table(_profile.format_columns(self.summary(), names, header, unit, _UNITS, 1024.0), file)
