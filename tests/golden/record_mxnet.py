"""Records what real MXNet 1.9.1 computes, for the tests to compare with.

    python tests/golden/record_mxnet.py PYTHON [NAME...]

PYTHON is an interpreter in which real MXNet runs: a virtual environment of CPython 3.10 with

    pip install mxnet==1.9.1 numpy==1.23.5 requests scikit-learn==1.2.2 scipy==1.10.1

NAME picks some example programs, or `random` for the random programs; all by default.
"""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import files, programs
from tests.golden.record import write_curves

RANDOM_COUNT = 440
BATCH = 20


def run_seeds(python: str, seeds: list[int], perturb: int) -> dict[str, dict]:
    """Run random programs; those that end the process have the result {"error": how}. The C library fills
    memory that is given back with what `perturb` says."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "results.json.gz"
        command = [python, "-m", "tests.random_programs.mxnet", "--out", str(out), "--seed", *map(str, seeds)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": str(perturb)}
        done = subprocess.run(command, cwd=programs.ROOT, env=environment, capture_output=True)
        if done.returncode == 0:
            return json.loads(gzip.decompress(out.read_bytes()))
    if len(seeds) == 1:
        return {str(seeds[0]): {"error": f"the process ended with {done.returncode}"}}
    results: dict[str, dict] = {}
    for seed in seeds:
        results.update(run_seeds(python, [seed], perturb))
    return results


def is_finite(result) -> bool:
    """Whether there is a number that is none in nested lists."""
    if isinstance(result, dict):
        return all(map(is_finite, result.values()))
    return all(map(is_finite, result)) if isinstance(result, list) else result == result


def record_random(python: str, versions: dict[str, str]) -> None:
    def results_of(seeds: list[int], perturb: int) -> dict[str, dict]:
        results: dict[str, dict] = {}
        for start in range(0, len(seeds), BATCH):
            results.update(run_seeds(python, seeds[start : start + BATCH], perturb))
        return results

    results = results_of(list(range(RANDOM_COUNT)), 0)
    again = results_of(list(map(int, results)), 85)
    for seed, other in again.items():
        # Some programs end MXNet. Of others it reads memory that it has given back.
        result = results[seed]
        if "error" in result or result != other:
            error = result.get("error") or other.get("error") or "no two runs give the same"
            print(f"left out: {seed}: {error[-200:].strip()}")
            del results[seed]
        elif not is_finite(result.get("third")):
            print(f"left out: third derivatives of {seed}")
            del result["third"]
    files.write(programs.GOLDEN / "mxnet_random_programs.json.gz", results, versions)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    python, names = sys.argv[1], sys.argv[2:] or [*programs.MXNET_PROGRAMS, "random"]
    versions = files.versions_of(python, "mxnet")
    for name in names:
        if name == "random":
            record_random(python, versions)
            continue
        path = programs.GOLDEN / f"mxnet_{name}.json"
        write_curves(path, programs.run_mxnet(name, [python])[0], versions)


if __name__ == "__main__":
    main()
