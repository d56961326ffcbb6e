"""Mistakes raise the exception classes that the real MXNet 1.9.1 raises (recorded by
tests/golden/mxnet_mistakes.py).
"""

import json
import os
import subprocess
import sys

import pytest

from tests.golden import files, programs

RECORDER = programs.GOLDEN / "mxnet_mistakes.py"
GOLDEN = files.read(RECORDER.with_suffix(".json"))
# mistake -> (MXNet's, ours)
DIFFERENT = {
    # MXNet's AttributeError about `handle` does not name the argument
    "a head that is no array": ("AttributeError", "TypeError"),
    "a head gradient that is no array": ("AttributeError", "AssertionError"),
    "more variables than gradients": ("crash", "AssertionError"),
    # the exception that the function raised reaches the caller
    "a function that fails": ("MXNetError", "RuntimeError"),
}


@pytest.fixture(scope="module")
def found():
    done = subprocess.run(
        [sys.executable, "-m", "compatgrad", "run", str(RECORDER), *GOLDEN],
        cwd=programs.ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("mistake", GOLDEN)
def test_mistake(found, mistake):
    if mistake in DIFFERENT:
        assert (GOLDEN[mistake], found[mistake]) == DIFFERENT[mistake]
    else:
        assert found[mistake] == GOLDEN[mistake]
