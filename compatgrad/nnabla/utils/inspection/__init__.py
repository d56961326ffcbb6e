"""Looking into graphs: what they consist of, how long they take, where values go wrong."""

from .base import FunctionHookCallbackBase
from .pretty_print import pprint
from .profile import CpuTimerCallback, TimeProfiler
from .value_trace import NanInfTracer

__all__ = ["CpuTimerCallback", "FunctionHookCallbackBase", "NanInfTracer", "TimeProfiler", "pprint"]
