"""Conditions on installed packages, warnings and mocks."""

import contextlib
import importlib.metadata
import pkgutil
import unittest
import unittest.mock
import warnings


def _requirements_met(requirements):
    """Whether installed distributions satisfy requirement strings such as ``"numpy>=1.26"``."""
    from packaging.requirements import Requirement  # installed along with pytest

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


def with_requires(*requirements):
    """Decorator: skip the test unless all requirements, such as ``"numpy>=1.26"``, are installed."""
    return unittest.skipIf(not _requirements_met(requirements), f"requires: {','.join(requirements)}")


def without_requires(*requirements):
    """Decorator: skip the test where all requirements are installed."""
    return unittest.skipIf(_requirements_met(requirements), f"requires: {','.join(requirements)}")


@contextlib.contextmanager
def assert_warns(expected):
    """Context that raises AssertionError unless a warning of class `expected` was given inside it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(w.message, expected) for w in caught):
        raise AssertionError(f"{getattr(expected, '__name__', expected)} not triggered")


def patch(target, *args, **kwargs):
    """`unittest.mock.patch` whose mock calls `wraps`, by default the object that it replaces.

    `target`: full name of the object. Methods of classes cannot be wrapped.
    """
    wraps = kwargs.pop("wraps") if "wraps" in kwargs else pkgutil.resolve_name(target)
    return unittest.mock.patch(target, *args, wraps=wraps, **kwargs)
