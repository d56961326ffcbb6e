"""The command that runs random programs tells what it did not compare."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.surgery.__main__ import run

ROOT = Path(__file__).resolve().parents[2]

# Stands for a Python with a worker: programs 3 and 5 end the process.
WORKER = """
import os, pickle, signal, sys
first, count, status, out = int(sys.argv[4]), int(sys.argv[5]), sys.argv[7], sys.argv[8]
results = {}
for seed in range(first, first + count):
    open(status, "w").write(str(seed))
    if seed in (3, 5):
        os.kill(os.getpid(), signal.SIGKILL)
    results[seed] = [seed]
pickle.dump(results, open(out, "wb"))
"""


def test_results_before_a_crash_are_kept(tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    results, complaints = run([sys.executable, str(worker)], "chainer", 0, 8, "tame", tmp_path, 60)
    assert sorted(results) == [0, 1, 2, 4, 6, 7]
    assert [(seed, code) for seed, code, _ in complaints] == [(3, -signal.SIGKILL), (5, -signal.SIGKILL)]


def test_a_peer_without_the_original_is_an_error():
    command = [sys.executable, "-m", "tests.surgery", "chainer", "--programs", "1", "--peer"]
    for peer, said in (("/bin/false", "it ends with 1"), ("/no/python", "No such file"), (sys.executable, "No module")):
        done = subprocess.run(
            [*command, peer], cwd=ROOT, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert f"--peer: {peer} does not import chainer: " in done.stderr and said in done.stderr
