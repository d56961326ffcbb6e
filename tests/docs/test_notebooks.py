"""The notebooks of examples/notebooks run from a fresh kernel, and print what is stored in them.

`make figures` (`python -m tests.docs.test_notebooks`) runs them and stores what they print.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# a decimal number: its last digits depend on the machine
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
# what depends on the machine as a whole: rounding errors, versions, amounts of memory, temporary folders
OTHER = re.compile(r"\d\.\de-\d\d|\bPython [\d.]+, NumPy [\d.]+|\d+ MiB|/\S+/notebooks/")


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A copy of the notebooks' folder, so that what they write does not stay; kernels start there and find the package.

    jupyter's own files go below it as well.
    """
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        place = Path(shutil.copytree(FOLDER, Path(folder) / "notebooks"))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
        patch.setenv("IPYTHONDIR", folder)
        patch.setenv("JUPYTER_RUNTIME_DIR", folder)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("NO_COLOR", "1")
        yield place


def executed(path: Path) -> Any:
    """The notebook after a run of all cells; an exception of a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    with workplace() as place:
        resources = {"metadata": {"path": str(place)}}
        nbclient.NotebookClient(
            notebook, timeout=120, kernel_name="python3", coalesce_streams=True, resources=resources
        ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # clock times
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = output["text"].replace(f"{place}/", "")
    return notebook


def texts(notebook: Any) -> list[str]:
    """What the cells show; pictures by their kind only."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            pictures = sorted(kind for kind in data if kind.startswith("image/"))
            found.append(output.get("text") or " ".join(pictures) or data.get("text/plain", ""))
    return found


def same(stored: str, now: str) -> bool:
    stored, now = (OTHER.sub("#", text) for text in (stored, now))
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (stored, now)]
    return NUMBER.sub("#", stored) == NUMBER.sub("#", now) and numbers[1] == pytest.approx(numbers[0], rel=1e-3)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_prints_what_is_stored(path):
    stored, now = (texts(nb) for nb in (nbformat.read(path, as_version=4), executed(path)))
    assert len(stored) == len(now)
    for before, after in zip(stored, now, strict=True):
        assert same(before, after), f"stored:\n{before}\nnow:\n{after}"


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        nbformat.write(executed(notebook), notebook)
        print(notebook)
