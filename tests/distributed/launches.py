"""Starts programs in several processes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
LONGEST = 600  # seconds after which a program hangs; those of a machine that is busy with others take minutes
# variables of a launcher that runs the tests themselves
_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "OMPI_", "PMI_", "MPI_LOCAL", "MV2_", "SLURM_", "HOROVOD_")


def environment(**more: object) -> dict[str, str]:
    """The variables of a process that finds this compatgrad and belongs to no launcher."""
    result = {k: v for k, v in os.environ.items() if not k.startswith((*_LAUNCHERS, "COMPATGRAD_"))}
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    result.update(PYTHONPATH=path, OMP_NUM_THREADS="1", COMPATGRAD_NO_COMPILE="1", PYTHONWARNINGS="ignore")
    return result | {name: str(value) for name, value in more.items()}


def launch(size: int, *program: object, folder: pathlib.Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs `python -m compatgrad launch` for a program and its arguments, in `folder`. `timeout`: how long a rank waits
    for another."""
    command = [sys.executable, "-m", "compatgrad", "launch", "-n", str(size), f"--timeout={timeout}"]
    return subprocess.run(
        [*command, *map(str, program)], cwd=folder, env=environment(), text=True, capture_output=True, timeout=LONGEST
    )


def check(size: int, *program: object, folder: pathlib.Path) -> str:
    """As `launch`, for a program that must succeed in all ranks. Returns what it printed."""
    done = launch(size, *program, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
