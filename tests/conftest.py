"""Lets tests import `tests.golden` and the like from any directory, behind an installed compatgrad."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))


@pytest.fixture(autouse=True)
def _static_graphs():
    """A program that a test runs may leave nnabla in auto-forward mode."""
    yield
    if nnabla := sys.modules.get("compatgrad.nnabla"):
        nnabla.set_auto_forward(False)
