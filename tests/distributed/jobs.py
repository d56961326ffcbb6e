"""Jobs of several processes for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

#: seconds that a process waits for another, and in which a job must end on a busy machine
WAIT, DEADLINE = 30, 120
FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


def command(size: int, program: str, *arguments: str) -> list[str]:
    """The command that runs a program of this folder in `size` processes."""
    launch = [sys.executable, "-m", "compatgrad", "launch", "-n", str(size), f"--timeout={WAIT}"]
    return [*launch, str(FOLDER / program), *arguments]


def environment(**variables: str) -> dict[str, str]:
    """The variables of a process without those of a launcher."""
    prefixes = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "OMPI_", "PMI_", "SLURM_", "HOROVOD_", "DMLC_", "NNABLA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **variables}


def run(line: Sequence[str], folder: Path, **variables: str) -> str:
    """Runs a job in `folder` and returns what it printed. Its exit code must be 0."""
    done = subprocess.run(
        line, cwd=folder, env=environment(**variables), capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done.stdout
