"""Random training runs end with the numbers of Chainer, nnabla and MXNet (see tests/golden/record_steps.py).

`python -m compatgrad run -m tests.random_programs.steps FRAMEWORK --show SEED` prints the run of a seed.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.golden import files, programs

TOLERANCE = {"float32": 2e-5, "float64": 1e-10}
FLOOR = 1e-3  # smaller numbers get an absolute tolerance: some are differences of larger numbers


GOLDEN = {name: files.read(files.GOLDEN / f"random_steps_{name}.json.gz") for name in files.ORIGINALS}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    found = {}
    for framework, runs in GOLDEN.items():
        if framework == "nnabla":
            pytest.importorskip("h5py")
        out = tmp_path_factory.mktemp("steps") / f"{framework}.json.gz"
        command = [sys.executable, "-m", "compatgrad", "run", "-m", "tests.random_programs.steps", framework]
        subprocess.run(
            [*command, "--out", str(out), "--seed", *runs],
            cwd=programs.ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=600,
        )
        found[framework] = files.read(out)
    return found


def assert_same(value, want, what, tolerance):
    if not isinstance(want, dict):
        assert value == pytest.approx(want, rel=1e-6, nan_ok=True) if isinstance(want, float) else value == want, what
        return
    assert value["shape"] == want["shape"], what
    if want["shape"]:  # NumPy turns results without axes into float64
        assert value["dtype"] == want["dtype"], what
    a, b = np.array(value["values"]), np.array(want["values"])
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite], what)
    scale = max(np.abs(b[finite]).max(initial=0), FLOOR)
    error = np.abs(a[finite] - b[finite]).max(initial=0)
    assert error <= tolerance[value["dtype"]] * scale, f"{what}: differs by {error:.1e} at a scale of {scale:.1e}"


@pytest.mark.parametrize(("framework", "seed"), [(f, seed) for f, runs in GOLDEN.items() for seed in runs])
def test_random_steps(results, framework, seed):
    value, want = results[framework][seed], GOLDEN[framework][seed]
    assert value["actions"] == want["actions"], value["last"].get("text")
    assert value["log"] == want["log"]
    assert value["last"].keys() == want["last"].keys()
    tolerance = dict(TOLERANCE)
    if framework == "mxnet":
        tolerance["float64"] = 1e-6  # the original computes constants in single precision
    elif any(isinstance(x, dict) and x["dtype"] == "float32" for x in want["last"].values()):
        tolerance["float64"] = TOLERANCE["float32"]  # float32 enters by a common norm or by arrays without axes
    for key, item in want["last"].items():
        assert_same(value["last"][key], item, key, tolerance)
