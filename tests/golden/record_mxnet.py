"""Records what real MXNet 1.9.1 computes, for the tests to compare with.

    python tests/golden/record_mxnet.py PYTHON [NAME...]

PYTHON is an interpreter in which real MXNet runs: a virtual environment of CPython 3.10 with

    pip install mxnet==1.9.1 numpy==1.23.5 requests scikit-learn==1.2.2 scipy==1.10.1

NAME picks some example programs, or `random` for the random programs; all by default.
"""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.golden import programs  # noqa: E402
from tests.golden.record import versions_of, write_curves  # noqa: E402


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    python, names = sys.argv[1], sys.argv[2:] or [*programs.MXNET_PROGRAMS, "random"]
    versions = versions_of(python, "mxnet", "1.9.1")
    for name in names:
        path = programs.GOLDEN / f"mxnet_{name}.json"
        write_curves(path, programs.run_mxnet(name, [python])[0], versions)


if __name__ == "__main__":
    main()
