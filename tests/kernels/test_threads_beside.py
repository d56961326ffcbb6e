"""Kernels where others compute too: in threads, in a forked process, beside torch's settings."""

import multiprocessing
import threading

import pytest
import torch

from compatgrad import _C

SIZE = 1 << 19


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def add(y, x):
    _C.run_kernel("sum_n", [y, x, x], ())


def child(queue, y, x):
    add(y, x)  # of memory that is there: torch's own functions wait for ever in a forked process
    queue.put(float(y[-1]))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have(two_threads):
    y, x = torch.zeros(SIZE), torch.full((SIZE,), 3.0)
    add(y, x)  # torch's threads are there now
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue, y, x), daemon=True)
    process.start()
    process.join(60)
    hangs = process.is_alive()
    if hangs:
        process.kill()
    assert not hangs
    assert queue.get() == 6.0


def test_threads_of_python_at_once(two_threads):
    found, expected = {}, {}

    def work(k):
        g = torch.Generator().manual_seed(k)
        x = torch.randn(SIZE, generator=g)
        y, states = torch.zeros(SIZE), [torch.zeros(SIZE), torch.zeros(SIZE)]
        for step in range(1, 6):
            _C.optim_step("adam", [y], [x * step], [states], (0.1, 0.1, 0.01, 1e-8, 0.99, -1.0))
            torch.set_num_threads(1 + (step + k) % 3)
        found[k] = [y, *states]

    for k in range(4):
        work(k)
    expected, found = found, {}
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        for a, b in zip(found[k], expected[k], strict=True):
            assert torch.equal(a, b)


def small_numbers_are_kept() -> bool:
    return bool((torch.full((4,), 1e-42) * 1 > 0).all())


@pytest.mark.parametrize("size", [3, SIZE])
def test_the_treatment_of_small_numbers_is_as_before(two_threads, size):
    assert small_numbers_are_kept()
    x = [torch.ones(size) for _ in range(4)]
    _C.optim_step("adam", [x[0]], [x[1]], [x[2:]], (0.1, 0.1, 0.01, 1e-8, 1.0, -1.0))
    assert small_numbers_are_kept()
    # each thread of the pool for itself
    assert bool((torch.full((SIZE,), 1e-42) * 1 > 0).all())
    with pytest.raises(ValueError, match="differ in shape"):
        _C.optim_step("sgd", [torch.ones(3)], [torch.ones(2)], None, (0.1,))
    assert small_numbers_are_kept()
    torch.set_flush_denormal(True)
    try:
        _C.optim_step("sgd", [x[0]], [x[1]], None, (0.1,))
        assert not small_numbers_are_kept()
    finally:
        torch.set_flush_denormal(False)
