"""MXNet's stores of several processes, and Horovod for MXNet."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.launches import LONGEST, PROGRAMS, check, environment


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mxnet_stores", "horovod_ranks"])
def test_two_processes(name: str, tmp_path: Path) -> None:
    program = PROGRAMS / f"{name}.py"
    passed = re.findall(r"^\[0\] (test_\w+)$", check(2, program, folder=tmp_path), re.M)
    assert passed == re.findall(r"^def (test_\w+)", program.read_text(), re.M)


WORKER = """
import compatgrad; compatgrad.install("mxnet")
import mxnet as mx
kv = mx.kv.create("dist_sync")
kv.init(0, mx.nd.zeros(1)); kv.push(0, mx.nd.ones(1) * (kv.rank + 1))
out = mx.nd.zeros(1); kv.pull(0, out=out); print(kv.num_workers, out.asscalar())
"""


@pytest.mark.slow
def test_roles_of_a_parameter_server(tmp_path: Path) -> None:
    """`tools/launch.py` starts a scheduler and servers, too: they end with the workers, which get ranks."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = {}
    for name in ("scheduler", "server", "worker", "worker 2"):
        variables = environment(
            DMLC_ROLE=name.split()[0], DMLC_PS_ROOT_URI="127.0.0.1", DMLC_PS_ROOT_PORT=port, DMLC_NUM_WORKER=2,
            DMLC_NUM_SERVER=1, COMPATGRAD_TIMEOUT=120,
        )  # fmt: skip
        started[name] = subprocess.Popen(
            [sys.executable, "-c", WORKER], cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True
        )
    try:
        printed = {name: process.communicate(timeout=LONGEST)[0] for name, process in started.items()}
    finally:
        for process in started.values():
            process.kill()
    assert [process.returncode for process in started.values()] == [0, 0, 0, 0]
    assert printed == {"scheduler": "", "server": "", "worker": "2 3.0\n", "worker 2": "2 3.0\n"}


def test_an_installed_horovod_stays(tmp_path: Path) -> None:
    """The original serves other frameworks, too; compatgrad's is there where it is absent."""
    (tmp_path / "horovod.py").write_text("real = True")
    code = "import compatgrad; compatgrad.install('mxnet'); import horovod; print(hasattr(horovod, 'real'))"
    for folder, found in ((tmp_path, "True"), (tmp_path.parent, "False")):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment(), capture_output=True, text=True, timeout=LONGEST
        )
        assert done.stdout.split() == [found], done.stderr
