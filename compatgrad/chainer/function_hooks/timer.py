"""Timing of functions."""

from compatgrad.chainer import _profile, backend
from compatgrad.chainer.function_hook import FunctionHook


class TimerHook(_profile.Stopwatch, FunctionHook):
    """Measures how long each function runs, forward and backward; see `print_report`."""

    name = "TimerHook"
    _header = "FunctionName"

    def forward_preprocess(self, function, in_data):
        self._start(backend.get_array_module(*in_data))

    def backward_preprocess(self, function, in_data, out_grad):
        self._start(backend.get_array_module(*in_data, *out_grad))

    def forward_postprocess(self, function, in_data):
        self._stop(function._impl_name)

    def backward_postprocess(self, function, in_data, out_grad):
        self._stop(function._impl_name)
