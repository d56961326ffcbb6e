"""A decorator that profiles Python functions."""

from __future__ import annotations

import atexit
import cProfile
import functools
import pstats
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["profile"]


class FunctionProfile:
    """A function whose calls are profiled; `profile` makes one.

    Where a profiled function calls another one, only the outer call is measured. The statistics are printed at the end
    of the program.

    Args:
        fn: the function.
        condition: function of the arguments of a call that returns whether to profile the call; None profiles all
            calls.
        profile_class: the profiler, such as cProfile.Profile.
        print_freq: number of calls after which statistics are printed; 0 for never.
        sort_keys: the order of the lines, arguments of pstats.Stats.sort_stats; by default cumulative, time, calls.
        print_restrictions: the lines to print, arguments of pstats.Stats.print_stats; by default the first 40.

    Example:
        >>> from compatgrad.nnabla.utils.function_profile import FunctionProfile
        >>> double = FunctionProfile(lambda x: 2 * x, condition=lambda x: x > 1)
        >>> double(1), double(2), double.ncalls
        (2, 4, 1)
        >>> double.reset_stats()

    Source: `nnabla.utils.function_profile.FunctionProfile` of nnabla 1.39.0.
    """

    profiling = False

    def __init__(
        self,
        fn: Callable[..., Any],
        condition: Callable[..., bool] | None = None,
        profile_class: type = cProfile.Profile,
        print_freq: int = 0,
        sort_keys: Sequence[str] | None = None,
        print_restrictions: Sequence[Any] | None = None,
    ):
        self.fn = fn
        self.condition = condition or (lambda *args, **kwargs: True)
        self.profile_class = profile_class
        self.print_freq = print_freq
        self.sort_keys = ("cumulative", "time", "calls") if sort_keys is None else sort_keys
        self.print_restrictions = (40,) if print_restrictions is None else print_restrictions
        self.reset_stats()
        atexit.register(self._atexit)

    def __call__(self, *args, **kwargs):
        if not self.condition(*args, **kwargs):
            return self.fn(*args, **kwargs)
        self.ncalls += 1
        if FunctionProfile.profiling:
            return self.fn(*args, **kwargs)
        profiler = self.profile_class()
        FunctionProfile.profiling = True
        try:
            return profiler.runcall(self.fn, *args, **kwargs)
        finally:
            FunctionProfile.profiling = False
            if self.stats is None:
                self.stats = pstats.Stats(profiler)
            else:
                self.stats.add(profiler)
            if self.print_freq and self.ncalls % self.print_freq == 0:
                self.print_stats()

    def reset_stats(self) -> None:
        """Deletes the statistics."""
        self.stats = None
        self.ncalls = 0

    def print_stats(self, reset: bool = True) -> None:
        """Prints the statistics, if there are any, and deletes them unless `reset` is False."""
        if self.stats is None:
            return
        code = self.fn.__code__
        print("--- Function Profiling ---")
        print(f'File "{code.co_filename}", line {code.co_firstlineno}, function {self.fn.__name__}')
        self.stats.sort_stats(*self.sort_keys).print_stats(*self.print_restrictions)
        print("--------------------------")
        if reset:
            self.reset_stats()

    def _atexit(self):
        try:
            self.print_stats()
        except ValueError:  # a test runner may have closed the output
            pass


def profile(
    fn: Callable[..., Any] | None = None,
    condition: Callable[..., bool] | None = None,
    profile_class: type = cProfile.Profile,
    print_freq: int = 0,
    sort_keys: Sequence[str] | None = None,
    print_restrictions: Sequence[Any] | None = None,
) -> Callable[..., Any]:
    """Decorator that profiles the calls of a function; the statistics are printed at the end of the program.

    Args:
        fn: the function; None makes a decorator with the other arguments.
        condition: function of the arguments of a call that returns whether to profile the call; None profiles all
            calls.
        profile_class: the profiler, such as cProfile.Profile.
        print_freq: number of calls after which statistics are printed; 0 for never.
        sort_keys: the order of the lines, arguments of pstats.Stats.sort_stats; by default cumulative, time, calls.
        print_restrictions: the lines to print, arguments of pstats.Stats.print_stats; by default the first 40.

    Returns:
        The function with an attribute `profiler`, a FunctionProfile, which has `print_stats` and `reset_stats`; or the
        decorator.

    Raises:
        KeyError: when statistics are printed: a key of `sort_keys` is unknown.

    Example:
        >>> from compatgrad.nnabla.utils.function_profile import profile
        >>> @profile(print_freq=100)
        ... def double(x):
        ...     return 2 * x
        >>> double(4), double.profiler.ncalls
        (8, 1)
        >>> double.profiler.reset_stats()

    Source: `nnabla.utils.function_profile.profile` of nnabla 1.39.0.
    """
    options = (condition, profile_class, print_freq, sort_keys, print_restrictions)
    if fn is None:
        return lambda fn: profile(fn, *options)
    profiler = FunctionProfile(fn, *options)

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return profiler(*args, **kwargs)

    call.profiler = profiler
    return call
