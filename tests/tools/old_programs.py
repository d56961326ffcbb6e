"""Runs programs that ask for old names."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

# removed more names, and refuses more conversions
NEW_NUMPY = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="needs NumPy 2.4")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def python(*arguments, cwd, env=None):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COMPATGRAD_NO_COMPILE": "1", **(env or {})},
        timeout=120,
    )


def run(folder, code, *options, script="train.py", env=None):
    """Runs a program, written to a file of the folder, under `python -m compatgrad run`."""
    (folder / script).write_text(textwrap.dedent(code).lstrip("\n"))
    return python("-m", "compatgrad", "run", *options, script, cwd=folder, env=env)


def execute(folder, code, name="program.py"):
    """Runs code of a file in this process, and returns its names."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(code))
    names = {"__name__": file.stem, "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names
