"""The names of which `compatgrad scan` says that compatgrad has them."""

import gzip
import importlib
import pathlib

import pytest

import compatgrad
from compatgrad.names import database, table

# the names that programs of 97 public repositories use and of which scan said that compatgrad has them
NAMES = pathlib.Path(__file__).parent / "scan_names.txt.gz"


def bundled():
    return gzip.decompress(NAMES.read_bytes()).decode().split()


def test_names_of_public_programs_exist(monkeypatch):
    """Every name that scan calls "same" can be looked up in the frontends."""
    compatgrad.install()
    try:
        lost = {name: why for name in bundled() if (why := _lost(name))}
    finally:
        compatgrad.uninstall()
    assert not lost
    assert len(bundled()) > 4000 and _lost("chainer.functions.reluu") and _lost("chainer.nothing.at.all")


def _lost(name):
    """Why the name cannot be looked up; None if it can, or if it is an attribute that instances get."""
    found = database.find(name)
    if found is None or found.entry[0].isupper():
        return "scan does not call it the same"
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        except ImportError as error:
            return None if "pip install" in str(error) else repr(error)
        for part in parts[count:]:
            if name.startswith("mxnet.symbol.Symbol.") and part != "Symbol":
                value = importlib.import_module("mxnet.symbol").var("x")  # some methods are found on instances only
            if not hasattr(value, part):
                on_instances = isinstance(value, type) and found.entry[0] in "pv"
                return None if on_instances else f"{value!r} has no {part}"
            value = getattr(value, part)
        return None
    return "no such module"


@pytest.mark.parametrize("frontend", table.ORIGINALS)
def test_earlier_names_have_a_successor(frontend):
    for row in table.rows(frontend, "earlier"):
        assert database.find(row.name.removesuffix(".*")) is None or row.name.endswith("*"), row
        for instead in filter(None, row.instead.split(", ")):
            assert instead.startswith("cupy.") or database.find(instead.partition("(")[0]), row
