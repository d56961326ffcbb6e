"""Two devices in one program, without a GPU: the cases next to this file run on a device made of CPU tensors.

They have a process each, because a device once registered stays, and because a stand-in for CuPy must not be seen by
other tests.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent


@pytest.mark.parametrize("cases", ["chainer", "kernels", "mxnet", "nnabla"])
def test_on_a_second_device(cases):
    if torch.cuda.is_available() and cases in ("chainer", "kernels"):
        pytest.skip("the stand-in for CuPy takes torch.cuda's place")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(HERE.parents[1])])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / f"on_second_{cases}.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
