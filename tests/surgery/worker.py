"""Runs programs of a range of seeds in this process; writes each seed to a file before its program, so that a crash
tells which one it was.

    python -m tests.surgery.worker KIND FIRST COUNT tame|wild STATUS [RESULTS]
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import pickle
import sys
import warnings
from pathlib import Path


def main() -> None:
    kind, first, count, how, status = sys.argv[1:6]
    faulthandler.enable()
    warnings.simplefilter("ignore")
    programs = importlib.import_module(f"tests.surgery.{kind}_programs")
    framework = importlib.import_module(kind)
    results = {}
    with open(status, "w") as file:
        for seed in range(int(first), int(first) + int(count)):
            file.seek(0)
            file.write(f"{seed:12d}\n")
            file.flush()
            results[seed] = programs.program(framework, seed, how == "tame")
            if seed % 50 == 0:
                gc.collect()
                if not programs.sane(framework):
                    sys.exit(f"after the program of seed {seed} a plain program gives wrong numbers")
    if len(sys.argv) > 6:
        Path(sys.argv[6]).write_bytes(pickle.dumps(results))


main()
