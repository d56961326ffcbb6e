"""A process that is missing: the others end soon, with an error that names it, and no process is left."""

import re
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from compatgrad.core.distributed import DistributedError, _waiting
from tests.distributed.launches import LONGEST, PROGRAMS, environment, launch

CASES = {
    # what rank 1 does -> what another rank says, and the deadline
    "raises": (r"all_reduce of 3 float32 at \S*faults\.py:\d+, in rank [02] of 3: .*has ended by ValueError: boom", 20),
    "killed": (r"rank 0 of 2: .*rank 1 is gone: its process ended without a word", 20),
    "leaves": (r"rank 0 of 2: .*rank 1 has ended$", 20),
    "hangs": (r"rank [02] of 3: waited 4 s; rank 1 has not called it", 4),
    "differs": (r"rank [02] of 3: .*rank 1 is in broadcast_object at \S*faults\.py:\d+", 20),
    "parameters": (r"of the gradients of [24] \(/.*rank [01] is in \S*mean_grad of the gradients of [24] \(/", 20),
    "dtype": (r"the processes do not agree: .*/b/W\(2, 2\) float32.*/b/W\(2, 2\) float64", 20),
    "later dtype": (r"rank 1 is in \S*mean_grad of the gradients of 4 \(.*, other ones than before at", 20),
    "later parameters": (r"of the gradients of 4 .*rank 1 is in bcast_data of the parameters 6 \(", 20),
    "network": (r"rank [02] of 3: no process has ended; Connection closed by peer \[127", 20),
    "batches": (r"rank 1 has ended$", 20),
    "absent": (r"did not all connect within 2 s; rank 0 at \S*faults\.py:\d+: rank 1 did not come$", 2),
    "text": (r"has ended by ValueError: the second line$", 20),
}


@pytest.mark.parametrize("what", CASES)
def test_a_rank_is_missing(what, tmp_path):
    words, timeout = CASES[what]
    size = 3 if what in ("raises", "hangs", "differs", "network") else 2
    done = launch(size, PROGRAMS / "faults.py", what, folder=tmp_path, timeout=timeout)
    assert done.returncode, done.stdout + done.stderr
    assert re.search(words, done.stderr, re.M), done.stderr
    for process in re.findall(r"^\[\d\] (\d+)$", done.stdout, re.M):
        with pytest.raises(FileNotFoundError):
            open(f"/proc/{process}/stat")


@pytest.mark.parametrize("rank, words", [(0, "Another"), (1, "no answer within 5 s .*Perhaps another")])
def test_the_port_is_taken(rank, words, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        variables = environment(RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        command = [sys.executable, "-m", "compatgrad", "run", str(PROGRAMS / "faults.py"), "port"]
        done = subprocess.run(command, cwd=tmp_path, env=variables, text=True, capture_output=True, timeout=LONGEST)
    assert done.returncode and re.search(
        rf"DistributedError: the 2 processes \(torchrun\) do not meet; rank {rank} at \S*faults.py:\d+: .*{words} "
        rf"program uses this port \({port}\): set MASTER_PORT to a free one",
        done.stderr,
    ), done.stderr


def test_snapshots_are_whole(tmp_path):
    done = launch(2, PROGRAMS / "faults.py", "snapshots", folder=tmp_path)
    assert done.returncode and "rank 1 is gone" in done.stderr, done.stderr
    saved = list((tmp_path / "saved").glob("cp.*"))
    iterations = [{int(file.suffix[1:]) for file in saved if file.stem == f"cp.{rank}"} for rank in range(2)]
    assert set.intersection(*iterations)  # from one of them both can resume
    for file in saved:
        with np.load(file) as arrays:
            assert arrays["W"].shape == (300, 300)


class Work:
    """torch's work of a collective: the `late` first waits are in vain, and it completes after the last of them."""

    def __init__(self, late, error=None):
        self.late, self.error, self.waits = late, error, 0

    def is_completed(self):
        return self.waits >= self.late

    def wait(self, timeout):
        self.waits += 1
        if self.waits <= self.late:
            raise RuntimeError("Operation timed out!")
        if self.error:
            raise RuntimeError(self.error)


class EndedBoard:
    """A board on which the other process has ended."""

    rank, size = 0, 2

    def read(self, what, rank):
        return None

    def has(self, what, rank):
        return what == "left"

    def is_gone(self, rank):
        return True

    def post(self, what, value):
        pass


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_collective_that_completes_when_its_wait_ends_has_succeeded(late, monkeypatch):
    """The last process comes just when another one stops to wait for it, and both others have ended when that one asks
    why."""
    watch = _waiting.Watch(EndedBoard())
    monkeypatch.setattr(watch.board, "is_gone", lambda rank: work.is_completed(), raising=False)
    try:
        call = _waiting.Call("barrier", "", "all", time.monotonic())
        work = Work(late)
        _waiting.complete(watch, [work], call, [0, 1])
        assert work.waits == late + 1
        work = Work(late, "Connection closed by peer")
        with pytest.raises(DistributedError, match="rank 1 has ended"):
            _waiting.complete(watch, [work], call, [0, 1])
        work = Work(3)
        monkeypatch.setattr(watch.board, "is_gone", lambda rank: True, raising=False)
        with pytest.raises(DistributedError, match="waited 0 s; rank 1 has ended"):
            _waiting.complete(watch, [work], call, [0, 1])
        assert work.waits == 1
    finally:
        watch.end()
