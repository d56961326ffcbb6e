"""`static_code`: the decorator of code that a static graph would run again at each iteration."""

from __future__ import annotations

from typing import Any


def static_code(*args: Any, **kwargs: Any) -> Any:
    """Decorator of code that a static graph would run again at each iteration. In compatgrad every graph is defined by
    run, so the function stays as it is. With or without arguments.

    Args:
        *args: the function, if the decorator has no arguments.
        **kwargs: options of the original, such as `func_name`; ignored.

    Returns:
        The function, or a decorator if the function is not given.

    Raises:
        TypeError: when the decorator is used, it gets something other than one function.

    Example:
        >>> @chainer.static_code
        ... def log(x):
        ...     return x
        >>> log(3)
        3

    Source: `chainer.static_code` of Chainer 7.8.1.
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return static_code


def is_static_func() -> bool:
    """Whether a static graph is being made: never.

    Returns:
        False.

    Example:
        >>> chainer.graph_optimizations.static_graph_utilities.is_static_func()
        False

    Source: `chainer.graph_optimizations.static_graph_utilities.is_static_func` of Chainer 7.8.1.
    """
    return False


def static_forward_optimizations(func: Any, inputs: Any) -> Any:
    """Computes a function as a static graph would record it: `func.forward(inputs)`.

    Args:
        func: the function node.
        inputs: its inputs, a tuple of arrays.

    Returns:
        The return value of `forward`.

    Raises:
        AttributeError: `func` has no method `forward`.

    Example:
        >>> from compatgrad.chainer.functions.activation.relu import ReLU
        >>> optimized = chainer.graph_optimizations.static_graph_utilities.static_forward_optimizations
        >>> optimized(ReLU(), (np.array([-1.0, 1.0]),))
        (array([0., 1.]),)

    Source: `chainer.graph_optimizations.static_graph_utilities.static_forward_optimizations` of Chainer 7.8.1.
    """
    return func.forward(inputs)
