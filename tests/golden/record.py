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

VERSIONS = "import chainer, numpy, sys; print(chainer.__version__, numpy.__version__, sys.version.split()[0])"


def record_example(name: str, python: str, versions: dict[str, str]) -> None:
    curves, _ = programs.run(name, [python])
    path = programs.GOLDEN / f"{name}.json"
    rounded = {key: [float(f"{value:.9g}") for value in values] for key, values in curves.items()}
    path.write_text(json.dumps({**versions, "curves": rounded}) + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes, loss {rounded['loss'][0]} to {rounded['loss'][-1]}")


def record_random(python: str) -> None:
    path = programs.GOLDEN / "random_programs.json.gz"
    command = [python, "-m", "tests.random_programs", "--out", str(path)]
    subprocess.run(command, cwd=programs.ROOT, check=True, stdout=subprocess.DEVNULL)
    results = json.loads(gzip.decompress(path.read_bytes()))
    # The original itself cannot differentiate a few of the programs: some of its functions do not expect that
    # one of their outputs has no gradient.
    failed = [seed for seed, result in results.items() if "error" in result]
    for seed in failed:
        del results[seed]
    with path.open("wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
        z.write(json.dumps(results, separators=(",", ":")).encode())
    print(f"{path.name}: {path.stat().st_size} bytes, {len(results)} programs, left out: {', '.join(failed)}")


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    python, names = sys.argv[1], sys.argv[2:] or [*programs.PROGRAMS, "random"]
    found = subprocess.run(
        [python, "-c", VERSIONS], check=True, capture_output=True, text=True
    ).stdout.split()
    versions = dict(zip(("chainer", "numpy", "python"), found, strict=True))
    if versions["chainer"] != "7.8.1":
        sys.exit(f"{python} has Chainer {versions['chainer']}; the records are of 7.8.1")
    for name in names:
        if name == "random":
            record_random(python)
        else:
            record_example(name, python, versions)


if __name__ == "__main__":
    main()
