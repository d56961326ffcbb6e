"""Reproducible random numbers in tests."""

from __future__ import annotations

import atexit
import functools
import os
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from compatgrad.chainer.backends import cuda
from compatgrad.chainer.testing import _bundle

_SEED = 100
_saved = None


def _cupy_testing_random():
    testing = cuda.cupy.testing
    return testing.random if hasattr(testing, "random") else testing._random


def do_setup(deterministic: bool = True) -> None:
    """Saves the global random states of Python and NumPy (with CUDA those of CuPy) and seeds them.

    Args:
        deterministic: True seeds them with a constant, False from the system.

    Raises:
        AttributeError: with CUDA, CuPy has no module `testing`.

    Example:
        >>> from compatgrad.chainer.testing import random
        >>> random.do_setup()
        >>> first = np.random.rand()
        >>> random.do_teardown()

    Source: `chainer.testing.random.do_setup` of Chainer 7.8.1.
    """
    global _saved
    if cuda.available:
        _cupy_testing_random().do_setup(deterministic)
        return
    _saved = random.getstate(), np.random.get_state()
    np.random.seed(_SEED if deterministic else None)


def do_teardown() -> None:
    """Restores the random states that `do_setup` saved. Raises TypeError without a call of `do_setup` before it.

    Example:
        >>> from compatgrad.chainer.testing import random
        >>> random.do_setup()
        >>> random.do_teardown()

    Source: `chainer.testing.random.do_teardown` of Chainer 7.8.1.
    """
    global _saved
    if cuda.available:
        _cupy_testing_random().do_teardown()
        return
    python_state, numpy_state = _saved
    _saved = None
    random.setstate(python_state)
    np.random.set_state(numpy_state)


# `condition.retry` runs setUp inside setUp: only the outermost pair of setup and teardown may change the states.
_nest_count = 0


@atexit.register
def _check_teardown():
    assert _nest_count == 0, "_setup_random() and _teardown_random() must be called in pairs."


def _setup_random():
    global _nest_count
    if _nest_count == 0:
        do_setup(deterministic=not int(os.environ.get("CHAINER_TEST_RANDOM_NONDETERMINISTIC", "0")))
    _nest_count += 1


def _teardown_random():
    global _nest_count
    assert _nest_count > 0, "_setup_random has not been called"
    _nest_count -= 1
    if _nest_count == 0:
        do_teardown()


def generate_seed() -> int:
    """Draws a seed from the fixed random stream of a test under `fix_random`; outside such a test it raises
    AssertionError.

    Returns:
        A number below 2 ** 32 - 1.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer import testing
        >>> @testing.fix_random()
        ... class Test(unittest.TestCase):
        ...     def test(self):
        ...         print(testing.generate_seed())
        >>> result = Test("test").run()
        2333906440

    Source: `chainer.testing.generate_seed` of Chainer 7.8.1.
    """
    assert _nest_count > 0, "random is not set up"
    return np.random.randint(0xFFFFFFFF)


def fix_random(*, setup_method: str = "setUp", teardown_method: str = "tearDown") -> Callable[[Any], Any]:
    """Makes a decorator that gives a test class or a test method the same random numbers in each run. It must be the
    outer decorator of `condition.retry` and `condition.repeat`: as the inner one it would give each run the same
    numbers. The environment variable CHAINER_TEST_RANDOM_NONDETERMINISTIC=1 seeds from the system instead.

    Args:
        setup_method: name of the method of a class that runs before each test.
        teardown_method: name of the method that runs after it.

    Returns:
        The decorator.

    Raises:
        AttributeError: when it decorates a class, the class has no such method.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer import testing
        >>> @testing.fix_random()
        ... class Test(unittest.TestCase):
        ...     def test(self):
        ...         print(np.random.randint(1000))
        >>> results = [Test("test").run() for _ in range(2)]
        520
        520

    Source: `chainer.testing.fix_random` of Chainer 7.8.1.
    """

    def decorator(target):
        if isinstance(target, types.FunctionType) and target.__name__.startswith("test_"):
            return _fix_method(target)
        bundle = _bundle.as_bundle(target)
        for klass, _, _ in bundle.cases:
            _fix_class(klass, setup_method, teardown_method)
        # The classes were changed in place, so a plain class stays a class, and a bundle stays a bundle for the next
        # decorator.
        return target

    return decorator


def _fix_method(method):
    @functools.wraps(method)
    def test(self, *args, **kwargs):
        _setup_random()
        try:
            method(self, *args, **kwargs)
        finally:
            _teardown_random()

    return test


def _fix_class(klass, setup_method, teardown_method):
    setup = getattr(klass, setup_method)
    teardown = getattr(klass, teardown_method)

    @functools.wraps(setup)
    def new_setup(self):
        _setup_random()
        try:
            setup(self)
        except BaseException:
            # unittest calls no tearDown after a failed setUp.
            _teardown_random()
            raise

    @functools.wraps(teardown)
    def new_teardown(self):
        try:
            teardown(self)
        finally:
            _teardown_random()

    setattr(klass, setup_method, new_setup)
    setattr(klass, teardown_method, new_teardown)
