"""Conditions on installed packages, warnings and mocks."""

from __future__ import annotations

import contextlib
import importlib.metadata
import pkgutil
import unittest
import unittest.mock
import warnings
from collections.abc import Callable, Iterator
from typing import Any


def _requirements_met(requirements):
    """Whether installed distributions satisfy requirement strings such as ``"numpy>=1.26"``."""
    from packaging.requirements import Requirement  # pytest depends on this package

    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if not requirement.specifier.contains(version, prereleases=True):
            return False
    return True


def with_requires(*requirements: str) -> Callable[[Any], Any]:
    """Makes a decorator that skips a test unless packages are installed.

    Args:
        *requirements: the packages, as "numpy>=1.26".

    Returns:
        The decorator.

    Raises:
        ImportError: the package `packaging` is not installed.
        packaging.requirements.InvalidRequirement: a requirement cannot be read.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer import testing
        >>> class Test(unittest.TestCase):
        ...     @testing.with_requires("numpy<1")
        ...     def test(self):
        ...         raise AssertionError
        >>> Test("test").run().skipped[0][1]
        'requires: numpy<1'

    Source: `chainer.testing.with_requires` of Chainer 7.8.1.
    """
    return unittest.skipIf(not _requirements_met(requirements), f"requires: {','.join(requirements)}")


def without_requires(*requirements: str) -> Callable[[Any], Any]:
    """Makes a decorator that skips a test if packages are installed.

    Args:
        *requirements: the packages, as "numpy>=1.26".

    Returns:
        The decorator.

    Raises:
        ImportError: the package `packaging` is not installed.
        packaging.requirements.InvalidRequirement: a requirement cannot be read.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer import testing
        >>> class Test(unittest.TestCase):
        ...     @testing.without_requires("numpy>=1")
        ...     def test(self):
        ...         raise AssertionError
        >>> Test("test").run().skipped[0][1]
        'requires: numpy>=1'

    Source: `chainer.testing.without_requires` of Chainer 7.8.1.
    """
    return unittest.skipIf(_requirements_met(requirements), f"requires: {','.join(requirements)}")


@contextlib.contextmanager
def assert_warns(expected: type[Warning]) -> Iterator[None]:
    """Context manager that checks that a warning is issued inside it.

    Args:
        expected: class of the warning.

    Yields:
        None.

    Raises:
        AssertionError: no warning of this class was issued.

    Example:
        >>> import warnings
        >>> from compatgrad.chainer import testing
        >>> with testing.assert_warns(FutureWarning):
        ...     warnings.warn("soon", FutureWarning)

    Source: `chainer.testing.assert_warns` of Chainer 7.8.1.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(w.message, expected) for w in caught):
        raise AssertionError(f"{getattr(expected, '__name__', expected)} not triggered")


def patch(target: str, *args: Any, **kwargs: Any) -> Any:
    """Replaces an object by a mock that calls the object and records the calls: `unittest.mock.patch` with `wraps`.
    Methods of classes cannot be wrapped.

    Args:
        target: full name of the object.
        *args: arguments of `unittest.mock.patch`.
        **kwargs: arguments of `unittest.mock.patch`; `wraps` is the object that the mock calls, by default the patched
            object itself.

    Returns:
        The patcher, a context manager and a decorator.

    Raises:
        AttributeError: there is no such object.
        ModuleNotFoundError: there is no such module.

    Example:
        >>> import math
        >>> from compatgrad.chainer import testing
        >>> with testing.patch("math.sqrt") as sqrt:
        ...     math.sqrt(4.0), sqrt.call_count
        (2.0, 1)

    Source: `chainer.testing.patch` of Chainer 7.8.1.
    """
    wraps = kwargs.pop("wraps") if "wraps" in kwargs else pkgutil.resolve_name(target)
    return unittest.mock.patch(target, *args, wraps=wraps, **kwargs)
