"""The programs in the documentation of `nn.grad` run unchanged, and have the same results as on nnabla."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.golden import documented, programs

RUN = [sys.executable, "-m", "compatgrad", "run"]
GOLDEN = json.loads((programs.GOLDEN / "nnabla_documented.json").read_text())


def run_as_printed(name):
    """Runs the program without a GPU, although it requests one."""
    return subprocess.run(
        [*RUN, str(documented.FOLDER / f"{name}.py")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def values():
    return documented.run(RUN)


@pytest.mark.semantics("N05")
def test_gradient_penalty_runs_as_printed():
    done = run_as_printed("gradient_penalty")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.semantics("N10")
def test_tenth_order_runs_as_printed():
    done = run_as_printed("tenth_order")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["True", "True"]
    assert any(line.startswith("Convolution <function ") for line in lines)


def assert_close(value, want, what):
    value, want = np.array(value), np.array(want)
    assert value.shape == want.shape, what
    error = np.abs(value - want).max(initial=0)
    assert error <= 2e-5 * max(1, np.abs(want).max(initial=0)), f"{what} differs by {error}"


@pytest.mark.semantics("N07")
def test_gradient_penalty_values(values):
    value, want = values["gradient_penalty"], GOLDEN["gradient_penalty"]
    assert_close(value["loss"], want["loss"], "loss")
    assert len(value["grads"]) == len(want["grads"]) == 6
    for i, (a, b) in enumerate(zip(value["grads"], want["grads"], strict=True)):
        assert_close(a, b, f"gradient {i}")
    assert list(value["parameters"]) == list(want["parameters"])
    for key in want["parameters"]:
        assert_close(value["parameters"][key], want["parameters"][key], f"gradient of {key}")


@pytest.mark.semantics("N05")
def test_tenth_order_values(values):
    value, want = values["tenth_order"], GOLDEN["tenth_order"]
    assert value["printed"] == want["printed"] == ["True", "True"]
    assert_close(value["dnx"], want["dnx"], "tenth derivative")
    assert_close(value["g"], want["g"], "eleventh derivative")
    # These have no entry of their own: compatgrad differentiates backward functions in its engine, and
    # fused_convolution is a chain of other functions.
    absent = ("DataGrad", "FilterGrad", "Backward", "FusedConvolution")
    functions = {name for name in want["registered"] if not name.endswith(absent)}
    missing = functions - set(value["registered"])
    assert not missing, f"no backward functions: {sorted(missing)}"
