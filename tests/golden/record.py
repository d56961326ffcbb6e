"""Records what real Chainer 7.8.1 computes, for the tests to compare with.

    python tests/golden/record.py PYTHON [NAME...]

PYTHON is an interpreter in which real Chainer runs: a virtual environment of CPython 3.10 with

    pip install 'setuptools<70' wheel numpy==1.23.5 six protobuf==3.20.3 typing_extensions filelock
    pip install --no-build-isolation --no-deps chainer==7.8.1
    pip install scikit-learn==1.2.2 scipy==1.10.1

NAME picks some example programs, or `random` for the random programs; all by default.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import programs  # noqa: E402
from tests.random_programs import recorded  # noqa: E402


def write_curves(path: pathlib.Path, curves: dict[str, list[float]], versions: dict[str, str]) -> None:
    rounded = {key: [float(f"{value:.9g}") for value in values] for key, values in curves.items()}
    path.write_text(json.dumps({**versions, "curves": rounded}) + "\n")
    ends = ", ".join(f"{key} {values[0]} to {values[-1]}" for key, values in rounded.items())
    print(f"{path.name}: {path.stat().st_size} bytes, {ends}")


def run_random(python: str, path: pathlib.Path, module: str) -> dict[str, dict]:
    """Run the random programs of `module`; return their results."""
    command = [python, "-m", module, "--out", str(path)]
    subprocess.run(command, cwd=programs.ROOT, check=True, stdout=subprocess.DEVNULL)
    return recorded.read(path)


def write_random(path: pathlib.Path, results: dict[str, dict]) -> None:
    with path.open("wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
        z.write(json.dumps(results, separators=(",", ":")).encode())
    print(f"{path.name}: {path.stat().st_size} bytes, {len(results)} programs")


def record_random(python: str) -> None:
    path = programs.GOLDEN / "random_programs.json.gz"
    results = run_random(python, path, "tests.random_programs")
    # The original itself cannot differentiate a few of the programs: some of its functions do not expect that
    # one of their outputs has no gradient.
    failed = [seed for seed, result in results.items() if "error" in result]
    for seed in failed:
        del results[seed]
    write_random(path, results)
    print(f"left out: {', '.join(failed)}")


def versions_of(python: str, framework: str, wanted: str) -> dict[str, str]:
    """What runs there; ends the program where that is not the version that the records are of."""
    code = (
        f"import {framework}, numpy, platform\n"
        f"print({framework}.__version__, numpy.__version__, platform.python_version())"
    )
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    versions = dict(zip((framework, "numpy", "python"), found, strict=True))
    if versions[framework] != wanted:
        sys.exit(f"{python} has {framework} {versions[framework]}; the records are of {wanted}")
    return versions


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    python, names = sys.argv[1], sys.argv[2:] or [*programs.PROGRAMS, "random"]
    versions = versions_of(python, "chainer", "7.8.1")
    for name in names:
        if name == "random":
            record_random(python)
        else:
            write_curves(programs.GOLDEN / f"{name}.json", programs.run(name, [python])[0], versions)


if __name__ == "__main__":
    main()
