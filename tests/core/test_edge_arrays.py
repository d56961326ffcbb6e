"""Public functions with edge cases of arrays: a share of the calls that `python -m tests.core.edge_arrays` makes.

It detects faults such as a crash (`image_augmentation` of an image without channels or height), an error that leaves a
cycle with the call's arrays (MXNet's operators), and an endless call (`mx.np.clip` of a number between arrays).
"""

import subprocess
import sys

import pytest

from tests.core import edge_arrays

COUNTS = {"chainer": 200, "mxnet": 600, "nnabla": 250, "ops": 350, "links": 55, "blocks": 90}  # functions or layers


@pytest.mark.parametrize("frontend", COUNTS)
def test_no_call_ends_the_process_or_leaves_cycles(frontend):
    command = [sys.executable, "-m", "tests.core.edge_arrays", frontend, "--share", "0.01", "--tries", "12"]
    if frontend in edge_arrays.LAYERS:
        command[command.index("0.01")] = "0.1"
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert len(edge_arrays.functions(frontend)) >= COUNTS[frontend]  # fails if functions are missed after modules moved


def crashing(x):
    if x.size == 0:
        import ctypes

        ctypes.string_at(0)
    return x


def leaking(x):
    error = ValueError("kept by its own traceback")
    raise error


def broken(x):
    raise SystemError("no result without an exception set")


@pytest.mark.parametrize(
    "function, kind", [(crashing, "ended the process (-11)"), (leaking, "cycle"), (broken, "unus")]
)
def test_faults_are_reported(monkeypatch, function, kind):
    monkeypatch.setattr(edge_arrays, "functions", lambda name: [("a", abs), ("it", function), ("b", abs)])
    count, calls, found = edge_arrays.run("chainer", 1.0, 5)
    wrong = [line for line in found if not line.startswith("note")]
    assert count == 3 and calls > 50 and wrong
    assert all(line.startswith(kind) and "it" in line for line in wrong), wrong
