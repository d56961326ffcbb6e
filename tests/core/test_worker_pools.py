"""Iterators that load in processes end while large results are on their way: the end of a pool waited for ever."""

import multiprocessing
import os
import subprocess
import sys
import time

import pytest

from compatgrad.core import worker_pools

PROGRAMS = {
    "chainer": """
import compatgrad.chainer as chainer
class Texts:
    def __len__(self):
        return 400
    def __getitem__(self, i):
        return b"x" * 200_000
for _ in range(4):
    it = chainer.iterators.MultiprocessIterator(Texts(), 200, n_processes=8, n_prefetch=4)
    next(it)
    it.finalize()
""",
    "mxnet": """
import numpy as np
from compatgrad.mxnet import gluon
for _ in range(4):
    loader = gluon.data.DataLoader(np.ones((999, 2000)), batch_size=8, num_workers=8)
    batches = iter(loader)
    next(batches)
    del batches, loader
""",
}


@pytest.mark.parametrize("frontend", PROGRAMS)
def test_an_iterator_with_large_results_left_over_ends(frontend):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    program = subprocess.Popen([sys.executable, "-c", PROGRAMS[frontend]], env=environment, start_new_session=True)
    try:
        assert program.wait(90) == 0
    finally:
        if program.poll() is None:
            os.killpg(program.pid, 9)


def wait_for(ending, seconds):
    global _ending
    _ending = ending
    time.sleep(seconds)


def answer(seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not _ending.begun():
        time.sleep(0.01)
    return _ending.begun()


needs_fork = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="functions of a test are not importable")


@needs_fork
def test_workers_hear_that_the_end_has_begun():
    processes = multiprocessing.get_context("fork")
    ending = worker_pools.Ending(processes)
    pool = processes.Pool(2, wait_for, (ending, 0))
    assert pool.apply(answer, (0.05,)) is False
    jobs = [pool.apply_async(answer, (60,)) for _ in range(4)]
    start = time.monotonic()
    ending.end(pool, jobs)
    pool.join()
    assert time.monotonic() - start < 30 and ending.begun()
    assert [job.get(0) for job in jobs] == [True] * 4


@needs_fork
def test_a_worker_that_does_not_listen_is_ended(monkeypatch):
    monkeypatch.setattr(worker_pools, "_GRACE_SECONDS", 0.2)
    processes = multiprocessing.get_context("fork")
    ending = worker_pools.Ending(processes)
    pool = processes.Pool(1)
    job = pool.apply_async(time.sleep, (600,))
    start = time.monotonic()
    ending.end(pool, [job])
    pool.join()
    assert time.monotonic() - start < 60 and not job.ready()


@needs_fork
def test_a_copy_in_another_process_ends_nothing():
    processes = multiprocessing.get_context("fork")
    ending = worker_pools.Ending(processes)
    with processes.Pool(1) as pool:
        child = processes.Process(target=ending.end, args=(pool, []))
        child.start()
        child.join()
        assert child.exitcode == 0 and not ending.begun()
        assert pool.apply(abs, (-3,)) == 3
