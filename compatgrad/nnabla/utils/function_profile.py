"""Profiles of Python functions, by a decorator."""

import atexit
import cProfile
import functools
import pstats

__all__ = ["profile"]


class FunctionProfile:
    """Profiles the calls of `fn`; see `profile`. Profiled functions do not profile what they call."""

    profiling = False

    def __init__(
        self,
        fn,
        condition=None,
        profile_class=cProfile.Profile,
        print_freq=0,
        sort_keys=None,
        print_restrictions=None,
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

    def reset_stats(self):
        """Forgets what was measured."""
        self.stats = None
        self.ncalls = 0

    def print_stats(self, reset=True):
        """Prints what was measured, and forgets it unless reset=False."""
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
        except ValueError:  # a test runner has closed the output
            pass


def profile(
    fn=None,
    condition=None,
    profile_class=cProfile.Profile,
    print_freq=0,
    sort_keys=None,
    print_restrictions=None,
):
    """Decorates a function: its calls are profiled, and printed at the end of the program.

    Without `fn` it gives a decorator. condition: a function of the call's arguments; only where it is true
    the call is profiled. profile_class: such as cProfile.Profile. print_freq: prints every so many calls.
    sort_keys, print_restrictions: for pstats. The result's attribute `profiler` has print_stats and
    reset_stats.
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
