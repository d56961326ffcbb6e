"""Imports point down: from layer to layer as pyproject.toml lists them, and without circles inside a package."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
# what the C++ of a folder may include
CSRC = {
    "kernels": {"kernels"},
    "core": {"core", "kernels"},
    "ops": {"ops", "core", "kernels"},
    "python": {"python", "ops", "core", "kernels"},
}
# lines of a file
LONGEST = {"csrc": 300, "compatgrad": 600, "tests": 600, "examples": 600}
# packages that mix frameworks (CONTRIBUTING.md, "Layers of the code")
MIXING = {"interop", "chainermn", "onnx_chainer", "nnabla_ext", "horovod"}


def test_no_layer_imports_a_higher_one(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    failed = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert not failed, capsys.readouterr().out


def test_no_module_imports_itself_by_way_of_others():
    """Imports inside functions and those for type checkers count too."""
    graph = grimp.build_graph("compatgrad", cache_dir=None)
    imports = {m: graph.find_modules_directly_imported_by(m) for m in graph.modules}
    assert len(imports) > 1000
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as e:
        pytest.fail("a circle of imports: " + " <- ".join(e.args[1]))


def test_private_modules_and_names_stay_in_their_packages():
    """Only code that mixes frameworks imports what begins with an underscore from another package."""
    package, found = ROOT / "compatgrad", []
    for path in package.rglob("*.py"):
        home = path.relative_to(ROOT).with_suffix("").parts
        if home[1] in MIXING:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                above = home[: -node.level] if node.level else ()
                names = [(*above, *(node.module or "").split("."), a.name) for a in node.names]
            elif isinstance(node, ast.Import):
                names = [tuple(a.name.split(".")) for a in node.names]
            else:
                continue
            for name in names:
                private = [part for part in name[2:] if part.startswith("_") and not part.endswith("__")]
                if name[0] == "compatgrad" and name[1:2] != home[1:2] and private:
                    found.append(f"{'/'.join(home)}:{node.lineno} {'.'.join(name)}")
    assert not found


@pytest.mark.parametrize("folder", CSRC)
def test_no_folder_of_csrc_includes_a_higher_one(folder):
    found = {}
    for path in (ROOT / "csrc" / folder).rglob("*.*"):
        for line in path.read_text().splitlines():
            if (m := re.match(r'#include "(?:\.\./)*([a-z_]+)/', line)) and m[1] not in CSRC[folder]:
                found.setdefault(str(path.relative_to(ROOT)), []).append(line)
    assert not found


def test_every_folder_of_csrc_has_its_place():
    assert {p.name for p in (ROOT / "csrc").iterdir() if p.is_dir()} == set(CSRC)


@pytest.mark.parametrize("folder", LONGEST)
def test_no_file_is_too_long(folder):
    endings = (".cpp", ".h", ".cu", ".cuh", ".py")
    lines = {p: len(p.read_text().splitlines()) for p in (ROOT / folder).rglob("*.*") if p.suffix in endings}
    assert len(lines) > 20
    assert not {str(p.relative_to(ROOT)): n for p, n in lines.items() if n > LONGEST[folder]}
