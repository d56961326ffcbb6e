"""Records what real nnabla 1.39.0 computes, for the tests to compare with.

    python tests/golden/record_nnabla.py PYTHON [NAME...]

PYTHON is an interpreter in which real nnabla runs: a virtual environment of CPython 3.10 with

    pip install nnabla==1.39.0 numpy==1.26.4 protobuf==3.20.3 scikit-learn==1.7.2 scipy==1.15.3

NAME picks some example programs, `seeds` for the programs of nnabla's documentation, `random` for the random
programs; all by default.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import documented, files, programs
from tests.golden.record import run_random, write_curves


def near(a: dict, b: dict) -> bool:
    x, y = np.array(a["values"]), np.array(b["values"])
    return a["shape"] != b["shape"] or np.abs(x - y).max(initial=0) <= 1e-3 * max(1, np.abs(x).max(initial=0))


def record_random(python: str, versions: dict[str, str]) -> None:
    path = programs.GOLDEN / "nnabla_random_programs.json.gz"
    first, results = (run_random(python, path, "tests.random_programs.nnabla") for _ in range(2))
    for seed, result in first.items():
        # nnabla refuses a few of the programs. Of others it reads memory that it has given back.
        if "error" in result or result != results[seed]:
            print(f"left out: {seed}: {result.get('error', 'no two runs give the same')[-200:].strip()}")
            del results[seed]
        elif "second_grad" in result:
            pairs = zip(result["second_grad"], result["inputs"], strict=True)
            if not all(near(a, result["second_backward"][name]) for a, name in pairs):
                print(f"left out: {seed}: `nn.grad` of the gradient, which differs from its `backward`")
                del results[seed]["second_grad"]
    files.write(path, results, versions)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    python, names = sys.argv[1], sys.argv[2:] or [*programs.NNABLA_PROGRAMS, "seeds", "random"]
    versions = files.versions_of(python, "nnabla")
    for name in names:
        if name == "random":
            record_random(python, versions)
        elif name == "seeds":
            path = programs.GOLDEN / "nnabla_documented.json"
            files.write(path, documented.run([python]), versions)
        else:
            path = programs.GOLDEN / f"nnabla_{name}.json"
            write_curves(path, programs.run_nnabla(name, [python])[0], versions)


if __name__ == "__main__":
    main()
