"""The stub of the compiled module lists exactly the names of the module and of its classes."""

import ast
import inspect
from pathlib import Path

import pytest

import compatgrad
from compatgrad import _C

_stub = ast.parse((Path(compatgrad.__file__).parent / "_C.pyi").read_text())


def _names(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


def _public(obj):
    # special methods are left out: `object` defines many of them, so the lists differ without meaning
    return {n for n in vars(obj) if not n.startswith("__") or n in ("__len__", "__getitem__")}


def test_module():
    there = {n for n in vars(_C) if not n.startswith("_")}
    assert _names(_stub.body) == there


@pytest.mark.parametrize("name", ["Variable", "VariableNode", "FunctionNode", "Frontend", "Array", "DeferredVariable"])
def test_classes(name):
    (node,) = (n for n in _stub.body if isinstance(n, ast.ClassDef) and n.name == name)
    listed = {n for n in _names(node.body) if not n.startswith("__") or n in ("__len__", "__getitem__")}
    listed.discard("_frontend")  # only subclasses set it
    assert listed == _public(getattr(_C, name))
    for n in _names(node.body) - {"_frontend"}:
        assert inspect.getattr_static(getattr(_C, name), n, None) is not None, n
