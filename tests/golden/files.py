"""Golden files: arrays (.npz) or JSON (.json, .json.gz) by name, and under `versions` what they were made with.

    PYTHON -m tests.golden.files ORIGINAL

prints these versions: of the original chainer, nnabla or mxnet, of NumPy and of Python.
"""

from __future__ import annotations

import gzip
import importlib
import json
import pathlib
import platform
import subprocess
import sys
from typing import Any

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent
ORIGINALS = {"chainer": "7.8.1", "nnabla": "1.39.0", "mxnet": "1.9.1"}


def versions(original: str) -> dict[str, str]:
    """What runs here; ends the program where that is not the version of the original that the files are of."""
    module = importlib.import_module(original)
    found = module.__version__
    if found != ORIGINALS[original] or "compatgrad" in pathlib.Path(module.__file__ or "").parts:
        sys.exit(f"{sys.executable} has {original} {found}; golden files are of the original {ORIGINALS[original]}")
    return {original: found, "numpy": np.__version__, "python": platform.python_version()}


def versions_of(python: str, original: str) -> dict[str, str]:
    """The versions in the interpreter `python`."""
    command = [python, "-m", "tests.golden.files", original]
    done = subprocess.run(command, cwd=GOLDEN.parents[1], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout.splitlines()[-1])


def write(path: pathlib.Path, contents: dict[str, Any], versions: dict[str, str]) -> None:
    """Write arrays or values of JSON; the same contents are the same bytes."""
    if path.suffix == ".npz":
        np.savez_compressed(path, **contents, versions=np.array(json.dumps(versions)))
    elif path.suffix == ".gz":
        text = json.dumps({"versions": versions, **contents}, separators=(",", ":"))
        with path.open("wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(text.encode())
    else:
        entries = {"versions": versions, **contents}.items()
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in entries]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{path.name}: {path.stat().st_size} bytes, {len(contents)} entries")


def _read(path: pathlib.Path) -> dict[str, Any]:
    if path.suffix == ".npz":
        with np.load(path) as file:
            arrays: dict[str, Any] = dict(file)
        return {**arrays, "versions": json.loads(str(arrays["versions"]))} if "versions" in arrays else arrays
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def read(path: pathlib.Path) -> dict[str, Any]:
    """The contents of a golden file."""
    contents = _read(path)
    contents.pop("versions", None)
    return contents


def versions_in(path: pathlib.Path) -> dict[str, str]:
    """With what a golden file was made."""
    return _read(path)["versions"]


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in ORIGINALS]:
        sys.exit(__doc__)
    print(json.dumps(versions(sys.argv[1])))
