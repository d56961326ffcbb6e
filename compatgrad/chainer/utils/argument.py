"""Checks of keyword arguments."""

import sys


def check_unexpected_kwargs(kwargs, **unexpected):
    """Raises ValueError with the message of the first name in `unexpected` that `kwargs` has."""
    for name, message in unexpected.items():
        if name in kwargs:
            raise ValueError(message)


def parse_kwargs(kwargs, *name_and_values, **unexpected):
    """Takes arguments out of `kwargs`: a tuple of their values, by (name, default) pairs.

    What is left raises: ValueError with the message in `unexpected`, or TypeError that names the calling
    function.
    """
    values = tuple([kwargs.pop(name, default) for name, default in name_and_values])
    if kwargs:
        check_unexpected_kwargs(kwargs, **unexpected)
        names = ", ".join(map(repr, sorted(kwargs)))
        caller = sys._getframe(1).f_code.co_name
        raise TypeError(f"{caller}() got unexpected keyword argument(s) {names}")
    return values


def assert_kwargs_empty(kwargs):
    """Raises TypeError unless `kwargs` is empty."""
    parse_kwargs(kwargs)
