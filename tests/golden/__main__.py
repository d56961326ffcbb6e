"""Records what the originals compute, for the tests: all golden data, or those that names choose.

    python -m tests.golden [LEGACY=PYTHON] [NNABLA=PYTHON] [NAME...]

LEGACY is an interpreter that has Chainer 7.8.1 and MXNet 1.9.1, NNABLA one that has nnabla 1.39.0; record.py,
record_mxnet.py and record_nnabla.py say how to get them. Both need h5py too, and LEGACY pytest. `git diff` shows what
came out differently. The bytes of HDF5 files, of .nnp files and of the logs in interop_files always differ: these files
contain times. Products of matrices (links.json.gz) differ in the last digit from one CPU to another. What the census of
MXNet finds depends on whether pandas is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

from tests.golden import files, programs

# tests that record what they compare with
TESTS = {
    "links": "test_links",
    "optimizers": "test_optimizers_golden",
    "optimizer_hooks": "test_optimizer_hooks_golden",
}
RECORDERS = {"chainer": "record.py", "nnabla": "record_nnabla.py", "mxnet": "record_mxnet.py"}
EXAMPLES = {"chainer": programs.PROGRAMS, "nnabla": programs.NNABLA_PROGRAMS, "mxnet": programs.MXNET_PROGRAMS}


class Step(NamedTuple):
    """What one command records with an original; in the command, PYTHON stands for the interpreter that has it."""

    name: str
    what: str
    original: str
    command: list[str]

    @property
    def interpreter(self) -> str:
        return "NNABLA" if self.original == "nnabla" else "LEGACY"


def from_scripts() -> list[Step]:
    """Of each script beside which there are data of its name."""
    found = []
    for script in sorted(files.GOLDEN.glob("*.py")):
        name = script.stem
        folder = files.GOLDEN / name
        data = [path.name for path in sorted(files.GOLDEN.glob(f"{name}.*")) if path != script]
        data += [f"the folder {name}"] if folder.is_dir() else []
        first = name.partition("_")[0]
        # one run of `interop_files` writes the files of all originals that its interpreter has
        originals = ["chainer", "nnabla"] if first == "interop" else [first if first in files.ORIGINALS else "chainer"]
        if data:
            command = ["PYTHON", "-m", f"tests.golden.{name}"]
            found += [Step(name, ", ".join(data), original, command) for original in originals]
    return found


def steps() -> list[Step]:
    """All there is to record, the short ones first."""
    found = from_scripts()
    for name, test in TESTS.items():
        (data,) = files.GOLDEN.glob(f"{name}.*")
        found.append(Step(name, data.name, "chainer", ["PYTHON", "-m", f"tests.chainer.{test}"]))
    for original in files.ORIGINALS:
        command = [sys.executable, "-m", "tests.census.record", f"{original}=PYTHON"]
        found.append(Step("census", f"census_{original}.json.gz", original, command))
    for original, recorder in RECORDERS.items():
        prefix = "" if original == "chainer" else f"{original}_"
        names = [*EXAMPLES[original], *(["seeds"] if original == "nnabla" else []), "random"]
        data = {"seeds": "documented.json", "random": "random_programs.json.gz"}
        for name in names:
            command = [sys.executable, f"tests/golden/{recorder}", "PYTHON", name]
            found.append(Step(name, prefix + data.get(name, f"{name}.json"), original, command))
    # the other recorders make a file for each original, of their own name behind "record_", or with more in front of it
    for path in sorted(files.GOLDEN.glob("record_*.py")):
        if path.name in RECORDERS.values():
            continue
        for original in files.ORIGINALS:
            command = [sys.executable, f"tests/golden/{path.name}", original, "PYTHON"]
            for data in files.GOLDEN.glob(f"*{path.stem.removeprefix('record_')}_{original}.json.gz"):
                found.append(Step(data.name.removesuffix(f"_{original}.json.gz"), data.name, original, command))
    return found


def main(arguments: list[str]) -> None:
    given = dict(a.split("=", 1) for a in arguments if "=" in a and a.split("=", 1)[1])
    names = [a for a in arguments if "=" not in a]
    known = steps()
    if given.keys() - {"LEGACY", "NNABLA"} or set(names) - {step.name for step in known}:
        sys.exit(f"{__doc__}\nNAME is one of: {', '.join(dict.fromkeys(step.name for step in known))}")
    chosen = [step for step in known if not names or step.name in names]
    for original, interpreter in {step.original: step.interpreter for step in chosen}.items():
        if interpreter in given:
            files.versions_of(given[interpreter], original)  # ends the program where it is another version
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "COMPATGRAD_SUBJECT": "original"}
    left = []
    for step in chosen:
        if step.interpreter not in given:
            left.append(f"{step.what}: needs {step.interpreter}=PYTHON, a Python that has {step.original}")
            continue
        print(f"{step.name}: {step.original} gives {step.what}", flush=True)
        command = [part.replace("PYTHON", given[step.interpreter]) for part in step.command]
        done = subprocess.run(command, cwd=programs.ROOT, env=environment)
        if done.returncode:
            left.append(f"{step.what}: the recorder ended with {done.returncode}")
    if left:
        sys.exit("not recorded:\n" + "\n".join(left))


if __name__ == "__main__":
    main(sys.argv[1:])
