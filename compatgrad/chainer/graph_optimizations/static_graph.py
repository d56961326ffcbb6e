"""`static_graph`: the decorator of the part of a link that does not change from one iteration to the next."""

from __future__ import annotations


def static_graph(*args, **kwargs):
    """Leaves the decorated method as it is: it runs by definition, with the result that a static graph gives.

    Also takes the options of the original (`force_test_define_by_run`, `minimize_cache_size`,
    `verbosity_level`, `enable_double_backprop`), which change how fast a static graph is made and kept, not
    what it computes.
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    if args:
        raise TypeError("static_graph takes its options by keyword")
    options = {"force_test_define_by_run", "minimize_cache_size", "verbosity_level", "enable_double_backprop"}
    unknown = kwargs.keys() - options
    if unknown:
        raise TypeError(f"static_graph got an unexpected keyword argument {unknown.pop()!r}")
    return static_graph
