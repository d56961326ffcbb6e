"""Docstrings of MXNet's operators, composed from their declarations: they lack nothing, and their examples run."""

import doctest
import inspect

import numpy as np
import pytest

from compatgrad import mxnet as mx
from tests.docs import public_names

NAMES = {
    name: value
    for name, value in public_names.public("compatgrad.mxnet.ndarray").items()
    if "**attrs:" in (inspect.getdoc(value) or "") or "**ignored:" in (inspect.getdoc(value) or "")
}


def test_there_are_operators():
    assert len(NAMES) > 250


@pytest.mark.parametrize("name", NAMES)
def test_docstring(name, tmp_path, monkeypatch):
    assert public_names.lacks(NAMES[name]) == []
    monkeypatch.chdir(tmp_path)
    globs = {"np": np, "mx": mx, "nd": mx.nd, "autograd": mx.autograd}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(NAMES[name]), globs, name, None, 0)
    assert test.examples
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not said, "".join(said)
