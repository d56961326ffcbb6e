"""An unknown name of a module raises AttributeError with the module's and the name's text."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import compatgrad
import compatgrad.ops

ROOT = Path(compatgrad.__file__).parent


def modules_with_a_getattr():
    for file in sorted(ROOT.rglob("*.py")):
        if re.search(r"^def __getattr__", file.read_text(), re.MULTILINE):
            parts = file.relative_to(ROOT.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", list(modules_with_a_getattr()))
def test_an_unknown_name_is_an_attribute_error(name):
    module = importlib.import_module(name)
    assert not hasattr(module, "unheard_of")
    with pytest.raises(AttributeError, match="unheard_of"):
        module.unheard_of  # noqa: B018


def test_a_traceback_suggests_a_similar_op(capsys):
    with pytest.raises(AttributeError) as caught:
        compatgrad.ops.softmaxx  # noqa: B018
    sys.__excepthook__(type(caught.value), caught.value, None)
    assert "Did you mean: 'softmax'?" in capsys.readouterr().err
