"""Decorators that run a test method several times and require a number of successes."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any


def _skip_exceptions():
    try:
        from _pytest.outcomes import Skipped
    except ImportError:
        return (unittest.SkipTest,)
    return (unittest.SkipTest, Skipped)


def _run_once(instance, method, args, kwargs):
    """Run `method` between setUp and tearDown of a fresh instance of the test class."""
    fresh = type(instance)(instance._testMethodName)

    def body():
        try:
            method(fresh, *args, **kwargs)
        except _skip_exceptions() as e:
            fresh.skipTest(str(e))

    result = unittest.TestResult()
    unittest.FunctionTestCase(body, setUp=fresh.setUp, tearDown=fresh.tearDown).run(result)
    return result


def repeat_with_success_at_least(times: int, min_success: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Makes a decorator that runs a test method several times, each time in a fresh instance of its class, and requires
    a number of successes. It stops as soon as the outcome is certain, and at the first skip, which skips the test.

    Args:
        times: greatest number of runs.
        min_success: required number of successes.

    Returns:
        The decorator. The test raises AssertionError, with the first error, for fewer successes.

    Raises:
        AssertionError: `min_success` is larger than `times`.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer.testing import condition
        >>> class Test(unittest.TestCase):
        ...     @condition.repeat_with_success_at_least(10, 2)
        ...     def test(self):
        ...         print("run")
        >>> result = Test("test").run()
        run
        run

    Source: `chainer.testing.condition.repeat_with_success_at_least` of Chainer 7.8.1.
    """
    assert times >= min_success

    def decorator(method):
        @functools.wraps(method)
        def test(instance, *args, **kwargs):
            assert isinstance(instance, unittest.TestCase)
            successes = 0
            failures = []
            for _ in range(times):
                result = _run_once(instance, method, args, kwargs)
                if result.skipped:
                    instance.skipTest(result.skipped[0][1])
                if result.wasSuccessful():
                    successes += 1
                else:
                    failures.append(result)
                if successes >= min_success:
                    return
                if len(failures) > times - min_success:
                    break
            if successes < min_success:
                instance.fail(_describe(successes, failures))

        return test

    return decorator


def _describe(successes, failures):
    first = failures[0]
    texts = [text for _, text in first.failures + first.errors]
    if not texts:
        texts = [f"unexpected success of {case}" for case in first.unexpectedSuccesses]
    head = f"\nFail: {len(failures)}, Success: {successes}"
    return "\n".join([head, "", "The first error message:", *texts])


def repeat(times: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Makes a decorator that runs a test method several times; each run has to succeed.

    Args:
        times: number of runs.

    Returns:
        The decorator.

    Raises:
        TypeError: when the test runs, `times` is no integer.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer.testing import condition
        >>> class Test(unittest.TestCase):
        ...     @condition.repeat(3)
        ...     def test(self):
        ...         print("run")
        >>> result = Test("test").run()
        run
        run
        run

    Source: `chainer.testing.condition.repeat` of Chainer 7.8.1.
    """
    return repeat_with_success_at_least(times, times)


def retry(times: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Makes a decorator that runs a test method until it succeeds.

    Args:
        times: greatest number of runs.

    Returns:
        The decorator.

    Raises:
        AssertionError: `times` is less than 1.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer.testing import condition
        >>> class Test(unittest.TestCase):
        ...     @condition.retry(3)
        ...     def test(self):
        ...         print("run")
        >>> result = Test("test").run()
        run

    Source: `chainer.testing.condition.retry` of Chainer 7.8.1.
    """
    return repeat_with_success_at_least(times, 1)
