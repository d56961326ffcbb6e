"""The Python in the pages of docs/ runs, and prints what its comments say.

A block is a program, run by `python -m compatgrad run` in an empty folder. In front of it may stand a comment that
readers do not see:

    <!-- before: CODE -->     code that runs first, in the same program
    <!-- needs: a GPU -->     the program runs only where torch finds a GPU; without one it is only compiled
    <!-- program: NAME -->    tests/packaging/test_readme.py runs it
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("block", ALL)
def test_block(block, tmp_path):
    compile(block.code, "block", "exec")
    if block.needs_gpu and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    (tmp_path / "program.py").write_text(block.code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "compatgrad", "run", "program.py"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(Path.home())},
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^ *print\(.*\)  # (.*)$", block.code, re.M)
    assert not said or done.stdout.splitlines() == said
