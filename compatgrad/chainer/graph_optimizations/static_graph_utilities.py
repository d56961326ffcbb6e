"""`static_code`: the decorator of code that a static graph would run again at each iteration."""

from __future__ import annotations


def static_code(*args, **kwargs):
    """Leaves the decorated function as it is: graphs are defined by run, so it runs at each iteration
    anyway.
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return static_code


def is_static_func():
    """Whether a static graph is being made: never."""
    return False


def static_forward_optimizations(func, inputs):
    """`func.forward(inputs)`: what a static graph would record."""
    return func.forward(inputs)
