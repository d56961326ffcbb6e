"""Fixtures of the tools' tests."""

import pytest

from compatgrad import surroundings


@pytest.fixture
def old():
    """The surroundings of a program in this process: the test's file is one."""
    before = surroundings.active()
    surroundings.activate("auto", quiet=True)
    yield surroundings
    surroundings.activate(before, quiet=True)
