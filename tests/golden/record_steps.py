"""Records how random training runs end on the originals: random_steps_FRAMEWORK.json.gz beside this file.

    python tests/golden/record_steps.py FRAMEWORK PYTHON

FRAMEWORK is chainer, nnabla or mxnet, PYTHON an interpreter in which it runs (see record*.py). Runs that the original
ends with an error are left out, and those in half precision, where its rounding of every operation decides.
"""

from __future__ import annotations

import gzip
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import files

COUNT = {"chainer": 110, "nnabla": 60, "mxnet": 90}
# What differs for a reason that docs/deviations.md names, or by rounding that the run's formulas make large.
LEFT_OUT: dict[str, set[int]] = {"chainer": set(), "nnabla": set(), "mxnet": {30}}


def is_kept(result: dict) -> bool:
    last = result["last"]
    halves = any(isinstance(value, dict) and value["dtype"] == "float16" for value in last.values())
    return "error" not in last and not halves


def main(framework: str, python: str) -> None:
    versions = files.versions_of(python, framework)
    path = files.GOLDEN / f"random_steps_{framework}.json.gz"
    command = [python, "-m", "tests.random_programs.steps", framework, "--count", str(COUNT[framework])]
    subprocess.run([*command, "--out", str(path)], cwd=files.GOLDEN.parents[1], check=True, stdout=subprocess.DEVNULL)
    found = json.loads(gzip.decompress(path.read_bytes()))
    found = {s: r for s, r in found.items() if int(s) not in LEFT_OUT[framework] and is_kept(r)}
    files.write(path, found, versions)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
