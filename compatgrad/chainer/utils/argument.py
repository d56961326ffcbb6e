"""Checks of keyword arguments."""

from __future__ import annotations

import sys
from typing import Any


def check_unexpected_kwargs(kwargs: dict[str, Any], **unexpected: str) -> None:
    """Raises an error for keyword arguments that a function of Chainer took in older versions.

    Args:
        kwargs: the keyword arguments of the function.
        **unexpected: for each refused name, the message of the error.

    Raises:
        ValueError: `kwargs` has one of the names; the error has the message of the first.

    Example:
        >>> chainer.utils.argument.check_unexpected_kwargs({"train": True}, train="train is a mode: using_config")
        Traceback (most recent call last):
          ...
        ValueError: train is a mode: using_config

    Source: `chainer.utils.argument.check_unexpected_kwargs` of Chainer 7.8.1.
    """
    for name, message in unexpected.items():
        if name in kwargs:
            raise ValueError(message)


def parse_kwargs(kwargs: dict[str, Any], *name_and_values: tuple[str, Any], **unexpected: str) -> tuple[Any, ...]:
    """Reads keyword arguments from a dictionary, which is empty afterwards; raises an error for unknown ones.

    Args:
        kwargs: the keyword arguments of the calling function.
        *name_and_values: pairs of name and default.
        **unexpected: messages for refused names.

    Returns:
        The values in the order of the pairs.

    Raises:
        TypeError: `kwargs` has another name; the error names the calling function.
        ValueError: `kwargs` has a name of `unexpected`, with that message.

    Example:
        >>> def f(**kwargs):
        ...     return chainer.utils.argument.parse_kwargs(kwargs, ("axis", 1), ("eps", 1e-5))
        >>> f(axis=2)
        (2, 1e-05)
        >>> f(axes=2)
        Traceback (most recent call last):
          ...
        TypeError: f() got unexpected keyword argument(s) 'axes'

    Source: `chainer.utils.argument.parse_kwargs` of Chainer 7.8.1.
    """
    values = tuple([kwargs.pop(name, default) for name, default in name_and_values])
    if kwargs:
        check_unexpected_kwargs(kwargs, **unexpected)
        _refuse(kwargs)
    return values


def _refuse(kwargs):
    names = ", ".join(map(repr, sorted(kwargs)))
    caller = sys._getframe(2).f_code.co_name
    raise TypeError(f"{caller}() got unexpected keyword argument(s) {names}")


def assert_kwargs_empty(kwargs: dict[str, Any]) -> None:
    """Raises an error if a keyword argument is given.

    Args:
        kwargs: the keyword arguments of the function.

    Raises:
        TypeError: `kwargs` is not empty; the error names the calling function.

    Example:
        >>> def f(x, **kwargs):
        ...     chainer.utils.argument.assert_kwargs_empty(kwargs)
        >>> f(1, train=True)
        Traceback (most recent call last):
          ...
        TypeError: f() got unexpected keyword argument(s) 'train'

    Source: `chainer.utils.argument.assert_kwargs_empty` of Chainer 7.8.1.
    """
    if kwargs:
        _refuse(kwargs)
