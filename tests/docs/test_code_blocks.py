"""The Python in the pages of docs/ runs, and prints what its comments say.

A block is a program, run by `python -m compatgrad run` in an empty folder. In front of it may stand a comment that
readers do not see:

    <!-- before: CODE -->     code that runs first, in the same program
    <!-- needs: a GPU -->     the program runs only where torch finds a GPU; without one it is only compiled
    <!-- program: NAME -->    tests/packaging/test_readme.py runs it
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.docs.site import plots

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"((?:^ *<!--(?:(?!-->).)*-->\n)*)^( *)```python\n(.*?)^ *```$", re.M | re.S)


class Block(NamedTuple):
    code: str
    needs_gpu: bool


def blocks(page):
    for comments, indent, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if "<!-- program:" in comments:
            continue
        before = "".join(textwrap.dedent(c) for c in re.findall(r"<!-- before:\s*?\n(.*?)-->", comments, re.S))
        assert len(indent) == 0 or all(line.startswith(indent) for line in code.splitlines() if line.strip())
        yield Block(before + textwrap.dedent(code), "<!-- needs: a GPU -->" in comments)


ALL = [
    pytest.param(block, id=f"{page.relative_to(ROOT / 'docs').with_suffix('')}-{i}")
    for page in PAGES
    for i, block in enumerate(blocks(page), 1)
]


def test_every_block_is_found():
    """A block that the expression above does not match would never run."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"^ *```python", text, re.M)) == len(BLOCK.findall(text)), page
    assert len(ALL) > 10


def link_tools(folder):
    """Fills a folder with all programs but Graphviz, without which pictures are the same everywhere."""
    for place in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            if program.name != "dot" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    return link_tools(tmp_path_factory.mktemp("tools"))  # pytest removes what killed runs have left


def run(block, folder, tools):
    """Runs the block as a program in the folder, with the programs in `tools`."""
    (folder / "program.py").write_text(block.code, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "compatgrad", "run", "program.py"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(Path.home()), "PATH": str(tools)},
    )


@pytest.mark.parametrize("block", ALL)
def test_block(block, tmp_path, tools):
    compile(block.code, "block", "exec")
    if block.needs_gpu and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    done = run(block, tmp_path, tools)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^(?: *print\(.*\)  # |# prints: )(.*)$", block.code, re.M)
    assert not said or done.stdout.splitlines() == said
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_text() == (PICTURES / picture.name).read_text(), "`make figures` draws it again"


def test_pictures_are_drawn_by_the_pages():
    """Each picture that a page shows is saved by a program, or drawn from a table of figures."""
    saved = {name for block in ALL for name in re.findall(r'save\("([\w-]+\.svg)"\)', block.values[0].code)}
    shown = {name for page in PAGES for name in re.findall(r"!\[[^\]]+\]\([./]*pictures/([\w.-]+)\)", page.read_text())}
    assert shown == {p.name for p in PICTURES.iterdir()}
    assert shown - saved == set(plots.plots())


@pytest.mark.parametrize("name", plots.plots())
def test_plots_have_the_figures_of_the_tables(name):
    assert plots.plots()[name] == (PICTURES / name).read_text(), "`make figures` draws it again"


def draw():
    """Writes the pictures of the programs."""
    PICTURES.mkdir(exist_ok=True)
    for parameter in ALL:
        block = parameter.values[0]
        if re.search(r'save\("[\w-]+\.svg"\)', block.code):
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tools:
                done = run(block, Path(folder), link_tools(Path(tools)))
                assert done.returncode == 0, done.stderr
                for picture in Path(folder).glob("*.svg"):
                    shutil.copy(picture, PICTURES / picture.name)
                    print(PICTURES / picture.name)


if __name__ == "__main__":
    draw()
