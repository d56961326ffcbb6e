"""Imports inside a package point one way: no module needs, even inside a function, one that needs it."""

import ast
import graphlib
import importlib.util
import pathlib

import pytest

import compatgrad

ROOT = pathlib.Path(compatgrad.__file__).parent


def _modules(package):
    """Names of the modules of a package -> their files."""
    folder = ROOT.joinpath(*package.split(".")[1:])
    found = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def _imported(name, file, modules):
    """Those of `modules` that the file names in any import."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            inner = [f"{source}.{alias.name}" for alias in node.names]
            yield from (i if i in modules else source for i in inner if i in modules or source in modules)


@pytest.mark.parametrize("package", ["compatgrad.mxnet", "compatgrad.nnabla"])
def test_no_module_is_imported_by_what_it_imports(package):
    modules = _modules(package)
    graph = {name: set(_imported(name, file, modules)) - {name} for name, file in modules.items()}
    assert sum(map(len, graph.values())) > len(modules)
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names the modules of a circle
