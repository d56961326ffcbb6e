"""Hooks that print the calls of functions, or measure their time and memory. Mirrors ``chainer.function_hooks``."""

from compatgrad.chainer.function_hooks.cuda_profile import CUDAProfileHook
from compatgrad.chainer.function_hooks.cupy_memory_profile import CupyMemoryProfileHook
from compatgrad.chainer.function_hooks.debug_print import PrintHook
from compatgrad.chainer.function_hooks.timer import TimerHook

__all__ = ["CUDAProfileHook", "CupyMemoryProfileHook", "PrintHook", "TimerHook"]
