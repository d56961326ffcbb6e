"""A few mutants for every reader; `make fuzz` reads many."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import readers, worker
from tests.fuzz.mutants import mutant

ROOT = Path(__file__).parents[2]


def test_every_reader_refuses_what_is_damaged():
    script = "import json; from tests.fuzz import worker; print(json.dumps(worker.together(0, 12)))"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 50 and set(found) <= set(readers.READERS)
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.parametrize(
    "name, seed",
    [
        ("mxnet load_parameters", 2002890),  # another dtype
        ("mxnet symbol", 2001858),  # "inf" for the number of a node
        ("mxnet SymbolBlock", 2000680),  # a sparse parameter
        ("mxnet image list", 2000464),  # labels of three numbers
        ("nnabla load_parameters .h5", 2000748),  # numbers of 16 bytes
    ],
)
def test_mutants_that_were_refused_badly(name, seed, tmp_path):
    found = worker.Reading(name, str(tmp_path)).check(seed)
    assert found == (False, [])


def test_mutants_are_the_same_for_the_same_seed():
    content = (ROOT / "LICENSE").read_bytes()
    assert mutant(content, 3) == mutant(content, 3) != mutant(content, 4)
    assert sum(mutant(content, seed) != content for seed in range(100)) > 95


class _Odd:
    """Reads in ways that a reader may not."""

    def __init__(self):
        self.loaded = 0

    def read(self, path):
        first = open(path, "rb").read()[:1]
        if first == b"x":
            raise IndexError("list index out of range")
        if first == b"h":
            self.loaded += 1
            raise ValueError(f"{path} is damaged")
        if first == b"m":
            return len(bytearray(os.urandom(1)) * (200 << 20))
        if first == b"n":
            raise ValueError("something is wrong")
        return None


@pytest.mark.parametrize(
    "content, kind",
    [
        (b"x", "unclear exception"),
        (b"h", "half loaded"),
        (b"m", "memory"),
        (b"n", "exception without the file's name"),
        (b"-", None),
    ],
)
def test_problems_are_found(tmp_path, monkeypatch, content, kind):
    odd = _Odd()

    def make(path):
        Path(path).write_bytes(b"-")
        return worker.Setup(odd.read, lambda: odd.loaded)

    monkeypatch.setitem(readers.READERS, "odd", ("odd.bin", make))
    monkeypatch.setattr("tests.fuzz.mutants.mutant", lambda *_: content)
    _, problems = worker.Reading("odd", str(tmp_path)).check(0)
    assert [problem.kind for problem in problems] == ([kind] if kind else [])


def test_crashes_and_hangs_are_counted_and_the_rest_goes_on(tmp_path, monkeypatch):
    calls = []

    def ended(command, **_):
        at, out = int(command[4]), command[6]
        calls.append(at)
        with open(out + ".seed", "wb") as file:
            file.write(worker.PROGRESS.pack([3, 6, 10][len(calls) - 1], 1, 2))
        code = [-signal.SIGSEGV, -signal.SIGPROF, 0][len(calls) - 1]
        return subprocess.CompletedProcess(command, code, "", "")

    monkeypatch.setattr(subprocess, "run", ended)
    taken, refused, problems = worker.run("any", 0, 10)
    assert (taken, refused, calls) == (3, 6, [0, 4, 7])
    assert [(p.seed, p.kind) for p in problems] == [(3, "crash"), (6, "hang")]
