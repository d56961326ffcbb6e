"""What was recorded of random programs, and what they compute here."""

import os
import pathlib
import subprocess
import sys

from tests.golden import files, programs


def read(path: pathlib.Path) -> dict[str, dict]:
    """The results of programs by their seeds."""
    return files.read(path)


def output_of(arguments: list[str]) -> str:
    """What `python -m compatgrad run -m` prints."""
    command = [sys.executable, "-m", "compatgrad", "run", "-m", *arguments]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=programs.ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True, timeout=900
    ).stdout


def computed(module: str, seeds, folder: pathlib.Path) -> dict[str, dict]:
    """The results of the programs of `seeds`, run by compatgrad in a process of their own."""
    out = folder / "results.json.gz"
    output_of([module, "--out", str(out), "--seed", *seeds])
    return read(out)
