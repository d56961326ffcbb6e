"""The decorators of `numpy.testing`, which were for a test runner that is gone."""

from __future__ import annotations

import functools
import sys
import unittest
import warnings
from collections.abc import Callable
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def slow(function: Callable[..., Any]) -> Callable[..., Any]:
    function.slow = True  # type: ignore[attr-defined]
    return function


def setastest(tf: bool = True) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__test__ = tf  # type: ignore[attr-defined]
        return function

    return decorate


def _holds(condition: Any) -> bool:
    return bool(condition() if callable(condition) else condition)


def skipif(skip_condition: Any, msg: str | None = None) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if _holds(skip_condition):
                raise unittest.SkipTest(msg or "Test skipped due to test condition")
            return function(*args, **kwargs)

        return wrapper

    return decorate


def knownfailureif(fail_condition: Any, msg: str | None = None) -> Decorator:
    return skipif(fail_condition, msg or "Test skipped due to known failure")


def deprecated(conditional: Any = True) -> Decorator:
    """Ignores DeprecationWarnings of the function."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with warnings.catch_warnings():
                if _holds(conditional):
                    warnings.simplefilter("ignore", DeprecationWarning)
                return function(*args, **kwargs)

        return wrapper

    return decorate


def run_module_suite(file_to_run: str | None = None, argv: list[str] | None = None) -> None:
    import pytest

    file = file_to_run or sys._getframe(1).f_code.co_filename
    sys.exit(pytest.main([file, *(argv or sys.argv)[1:]]))
