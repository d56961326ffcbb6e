"""Records what real Chainer 7.8.1 computes, for the tests to compare with.

    python tests/golden/record.py PYTHON [NAME...]

PYTHON is an interpreter in which real Chainer runs: a virtual environment of CPython 3.10 with

    pip install 'setuptools<70' wheel numpy==1.23.5 six protobuf==3.20.3 typing_extensions filelock
    pip install --no-build-isolation --no-deps chainer==7.8.1
    pip install scikit-learn==1.2.2 scipy==1.10.1

NAME picks some example programs, or `random` for the random programs; all by default.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import files, programs
from tests.random_programs import recorded


def write_curves(path: pathlib.Path, curves: dict[str, list[float]], versions: dict[str, str]) -> None:
    rounded = {key: [float(f"{value:.9g}") for value in values] for key, values in curves.items()}
    files.write(path, {"curves": rounded}, versions)
    print(*(f"{key} {values[0]} to {values[-1]}" for key, values in rounded.items()), sep=", ")


def run_random(python: str, path: pathlib.Path, module: str) -> dict[str, dict]:
    """Run the random programs of `module`; return their results."""
    command = [python, "-m", module, "--out", str(path)]
    subprocess.run(command, cwd=programs.ROOT, check=True, stdout=subprocess.DEVNULL)
    return recorded.read(path)


def record_random(python: str, versions: dict[str, str]) -> None:
    path = programs.GOLDEN / "random_programs.json.gz"
    results = run_random(python, path, "tests.random_programs")
    # The original itself cannot differentiate a few of the programs: some of its functions do not expect that
    # one of their outputs has no gradient.
    failed = [seed for seed, result in results.items() if "error" in result]
    for seed in failed:
        del results[seed]
    files.write(path, results, versions)
    print(f"left out: {', '.join(failed)}")


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    python, names = sys.argv[1], sys.argv[2:] or [*programs.PROGRAMS, "random"]
    versions = files.versions_of(python, "chainer")
    for name in names:
        if name == "random":
            record_random(python, versions)
        else:
            write_curves(programs.GOLDEN / f"{name}.json", programs.run(name, [python])[0], versions)


if __name__ == "__main__":
    main()
