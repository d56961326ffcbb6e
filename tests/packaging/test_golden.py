"""Golden files say what they were made with, and `make golden` records each of them."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.golden import __main__ as recording
from tests.golden import files

# what Chainer wrote has no place for versions: interop_files/chainer.json beside it has them
FILES = [
    path
    for pattern in ("*.npz", "*.json", "*.json.gz")
    for path in sorted(files.GOLDEN.rglob(pattern))
    if not (path.parent.name == "interop_files" and path.suffix == ".npz")
]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(files.GOLDEN)) for path in FILES])
def test_versions(path):
    if path.name.endswith("symbol.json"):  # a graph as MXNet writes it
        assert json.loads(path.read_text())["attrs"]["mxnet_version"] == ["int", 10901]
        return
    versions = files.versions_in(path)
    (original,) = versions.keys() & files.ORIGINALS.keys()
    assert versions.keys() == {original, "numpy", "python"}
    assert versions[original] == files.ORIGINALS[original]
    assert path.parent.name != "interop_files" or original == path.stem


def test_contents_come_back_without_the_versions(tmp_path, capsys):
    versions = {"chainer": "7.8.1", "numpy": "1.23.5", "python": "3.10.13"}
    for name, contents in (("a.json", {"x": [1.5, None]}), ("b.json.gz", {"x": {"y": "z"}})):
        files.write(tmp_path / name, contents, versions)
        assert files.read(tmp_path / name) == contents and files.versions_in(tmp_path / name) == versions
    files.write(tmp_path / "c.npz", {"x": np.arange(3), "y": np.float32(2)}, versions)
    found = files.read(tmp_path / "c.npz")
    assert list(found) == ["x", "y"] and found["x"].tolist() == [0, 1, 2] and found["y"].dtype == np.float32
    assert files.versions_in(tmp_path / "c.npz") == versions
    assert "c.npz" in capsys.readouterr().out


def test_every_file_has_a_recorder():
    recorded = ", ".join(step.what for step in recording.steps())
    by_other_steps = {"mxnet_np_net-symbol.json"}  # beside mxnet_np.json
    names = {path.name for path in FILES if path.parent == files.GOLDEN} - by_other_steps
    assert {name for name in names if name not in recorded.split(", ")} == set()
    folders = {path.parent.name for path in FILES} - {"golden"}
    assert {name for name in folders if f"the folder {name}" not in recorded} == set()


def run(*arguments):
    command = [sys.executable, "-m", "tests.golden", *arguments]
    return subprocess.run(command, cwd=files.GOLDEN.parents[1], capture_output=True, text=True, timeout=120)


def test_names_what_is_missing():
    done = run("LEGACY=", "mxnet_np", "nnabla_norms")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "not recorded:",
        "mxnet_np.json: needs LEGACY=PYTHON, a Python that has mxnet",
        "nnabla_norms.npz: needs NNABLA=PYTHON, a Python that has nnabla",
    ]
    done = run("mxnet_nq")
    assert done.returncode == 1 and "mxnet_nn, mxnet_np" in done.stderr


def test_refuses_an_interpreter_without_the_original():
    done = run(f"LEGACY={sys.executable}", "mxnet_np")
    assert done.returncode == 1 and "mxnet" in done.stderr and "mxnet_np.json" not in done.stdout
