"""Decorators that run a test method several times and ask for a number of successes."""

import functools
import unittest


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


def repeat_with_success_at_least(times, min_success):
    """Run a test method up to `times` times; it passes with `min_success` successes.

    Stops as soon as the outcome is certain, and at the first skip, which skips the test.
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


def repeat(times):
    """Run a test method `times` times; each run has to succeed."""
    return repeat_with_success_at_least(times, times)


def retry(times):
    """Run a test method until it succeeds, at most `times` times."""
    return repeat_with_success_at_least(times, 1)
