"""Records the public names of the originals, with which the tests compare ours.

    python -m tests.census.record chainer=PYTHON nnabla=PYTHON mxnet=PYTHON

Each PYTHON is an interpreter in which that original runs: Chainer 7.8.1 (its distribution brings chainermn and
onnx_chainer), nnabla 1.39, MXNet 1.9.1. See tests/golden/record.py for how to make one.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile

from tests.census.compare import FRONTENDS, GOLDEN
from tests.golden import files

WALK = pathlib.Path(__file__).with_name("walk.py")


def record(frontend: str, python: str) -> None:
    """Record the names of the original of `frontend` in the interpreter `python`."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "census.json")
        subprocess.run([python, WALK, out, *FRONTENDS[frontend]], check=True, cwd=folder)
        census = json.loads(out.read_text())
    path = GOLDEN / f"census_{frontend}.json.gz"
    files.write(path, census, files.versions_of(python, frontend))
    names = sum(map(len, census["modules"].values()))
    print(f"{len(census['modules'])} modules, {names} names")
    for name, why in census["broken"].items():
        print(f"  left out: {name}: {why}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not all("=" in argument for argument in sys.argv[1:]):
        sys.exit(__doc__)
    for argument in sys.argv[1:]:
        record(*argument.split("=", 1))
