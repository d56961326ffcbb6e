"""Iterators that load in processes: they end while large results are on their way, where the end of a pool waited for
ever, and their workers keep memory.
"""

import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

from compatgrad import chainer
from compatgrad.core import worker_pools
from compatgrad.mxnet import gluon

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


class PageFaults:
    """Its examples say how many pages their arrays have needed from the system."""

    def __len__(self):
        return 40

    def __getitem__(self, i):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        x = np.ones((3, 224, 224), np.float32)
        (x - 1) / 2
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the memory of glibc")
@pytest.mark.parametrize("frontend", ["chainer", "mxnet"])
def test_workers_keep_memory_for_the_next_example(frontend):
    """Without it, each example needs some 400 new pages."""
    if frontend == "chainer":
        iterator = chainer.iterators.MultiprocessIterator(PageFaults(), 10, False, False, n_processes=1, shared_mem=0)
        with iterator as batches:
            faults = [n for batch in batches for n in batch]
    else:
        loader = gluon.data.DataLoader(PageFaults(), 10, num_workers=1, batchify_fn=list)
        faults = [n for batch in loader for n in batch]
    assert sum(faults[-20:]) < 20 * 100


def test_settings_of_the_environment_stay_in_force():
    program = "from tests.core.test_worker_pools import *; worker_pools.keep_memory()"
    program += "; print(sum(PageFaults()[i] for i in range(10)))"
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    if platform.libc_ver()[0] == "glibc":
        assert int(done.stdout) > 10 * 100
