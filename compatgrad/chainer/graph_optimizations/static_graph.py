"""`static_graph`: the decorator of the part of a link that does not change from one iteration to the next."""

from __future__ import annotations

from typing import Any

from compatgrad.core import notes


def static_graph(*args: Any, **kwargs: Any) -> Any:
    """Decorator of the part of a link that does not change from one iteration to the next. In compatgrad every graph is
    defined by run, so the method stays as it is; its results are those of a static graph. With or without arguments.

    Args:
        *args: the method, if the decorator has no arguments.
        **kwargs: `force_test_define_by_run`, `minimize_cache_size`, `verbosity_level` and `enable_double_backprop`:
            they have no effect; in Chainer they change the speed and the memory of a static graph, not its results.

    Returns:
        The method, or a decorator if the method is not given.

    Raises:
        TypeError: an unknown option is given, or an option is not given by keyword.

    Example:
        >>> class Model(chainer.Chain):
        ...     @chainer.static_graph
        ...     def forward(self, x):
        ...         return x * 2
        >>> Model()(np.array([1.0]))
        array([2.])

    Source: `chainer.static_graph` of Chainer 7.8.1.
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        notes.note_difference("static_graph")
        return args[0]
    if args:
        raise TypeError("static_graph takes its options by keyword")
    options = {"force_test_define_by_run", "minimize_cache_size", "verbosity_level", "enable_double_backprop"}
    unknown = kwargs.keys() - options
    if unknown:
        raise TypeError(f"static_graph got an unexpected keyword argument {unknown.pop()!r}")
    return static_graph
