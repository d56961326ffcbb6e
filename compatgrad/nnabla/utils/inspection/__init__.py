"""Inspection of graphs: their structure, the time of each function, and the source of NaN and infinite values."""

from .base import FunctionHookCallbackBase
from .pretty_print import pprint
from .profile import CpuTimerCallback, TimeProfiler
from .value_trace import NanInfTracer

__all__ = ["CpuTimerCallback", "FunctionHookCallbackBase", "NanInfTracer", "TimeProfiler", "pprint"]
