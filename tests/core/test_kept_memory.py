"""Memory of large tensors on the CPU, which is kept for the next ones (csrc/core/memory.h)."""

import os
import random
import subprocess
import sys
import threading

import pytest
import torch

import compatgrad
from compatgrad import _C

MB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_kept():
    _C.release_memory()
    yield
    _C.release_memory()


def bytes_of(n):
    return torch.empty(n, dtype=torch.uint8)


def in_process(text, **environment):
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.split()


def test_the_block_that_was_freed_last_comes_first():
    a, b, c = (bytes_of(3 * MB) for _ in range(3))
    first, second = a.data_ptr(), b.data_ptr()
    del a
    del b
    again = bytes_of(3 * MB - 100)  # somewhat smaller ones, too
    assert again.data_ptr() == second
    assert bytes_of(3 * MB).data_ptr() == first
    assert bytes_of(2 * MB).data_ptr() != first  # much smaller ones get none
    assert c.data_ptr() not in (first, second)


@pytest.mark.parametrize("size", [0, 1, 1 << 18, (1 << 18) - 1, 4 * MB, 5 * MB + 3, 256 * MB + 1])
def test_blocks_of_all_sizes_can_be_written_and_are_aligned(size):
    for _ in range(2):
        t = bytes_of(size).fill_(7)
        assert t.data_ptr() % 64 == 0
        assert size == 0 or (int(t[0]), int(t[-1])) == (7, 7)


def test_blocks_in_use_and_kept_ones_stay_below_the_peak():
    text = """
import random, torch
from compatgrad import _C
draw, alive, peak = random.Random(0), [], 0
for _ in range(3000):
    if alive and draw.random() < 0.5:
        alive.pop(draw.randrange(len(alive)))
    else:
        size = draw.choice([300_000, 1 << 20, 3 << 20, 5 << 20, 5 * 1001 << 10])
        alive.append(torch.empty(size, dtype=torch.uint8))
    used, kept = _C.memory_amounts()
    peak, bytes = max(peak, used), sum(t.nbytes for t in alive)
    assert used + kept <= peak * 5 // 4, (used, kept, peak)
    assert bytes <= used <= bytes * 9 // 8 + 4096 * len(alive), (used, bytes)
alive.clear()
print(_C.memory_amounts()[0])
"""
    assert in_process(text) == ["0"]


def test_a_step_that_is_repeated_asks_the_system_for_nothing():
    text = """
import random, torch
from compatgrad import _C
def step():
    draw, places, alive = random.Random(0), set(), []
    for _ in range(200):
        alive.append(torch.empty(draw.choice([300_000, 1 << 20, 3 << 20, 5 << 20]), dtype=torch.uint8))
        places.add(alive[-1].data_ptr())
        if len(alive) > draw.randrange(1, 20):
            del alive[draw.randrange(len(alive))]
    return places
known = set().union(*(step() for _ in range(10)))
print(all(step() <= known for _ in range(100)))
"""
    assert in_process(text) == ["True"]


def test_memory_of_a_large_phase_goes_back_to_the_system():
    large = [bytes_of(20 * MB) for _ in range(10)]
    del large
    assert _C.memory_amounts()[1] >= 200 * MB
    for _ in range(2 * 4096 + 10):
        bytes_of(MB)
    assert _C.memory_amounts()[1] <= 10 * MB


def test_release_memory_returns_it_to_the_system():
    before, after, bytes_ = map(
        int,
        in_process(
            "import compatgrad, torch\n"
            "from compatgrad import _C\n"
            "resident = lambda: int(open('/proc/self/statm').read().split()[1]) * 4096\n"
            "torch.ones(50_000_000)\n"
            "before = resident()\n"
            "print(before, (compatgrad.release_memory(), resident())[1], compatgrad.release_memory())\n"
        ),
    )
    assert before - after > 190e6
    assert bytes_ == 0
    bytes_of(3 * MB)
    assert compatgrad.release_memory() == 3 * MB


def test_nothing_is_kept_if_the_environment_says_so():
    text = "import torch\nfrom compatgrad import _C\nt = torch.ones(10_000_000)\ndel t\nprint(*_C.memory_amounts())"
    assert in_process(text, COMPATGRAD_KEEP_MEMORY="0") == ["0", "0"]
    assert in_process(text, COMPATGRAD_KEEP_MEMORY="") == ["0", "40001536"]


def test_arrays_of_numpy_and_storages_hold_their_blocks():
    t = torch.arange(MB)
    array, place = t.numpy(), t.data_ptr()
    del t
    assert bytes_of(8 * MB).fill_(255).data_ptr() != place
    assert array[-1] == MB - 1
    t = torch.ones(MB)
    t.untyped_storage().resize_(16 * MB)
    assert float(t.sum()) == MB
    t.share_memory_()
    assert float(t.sum()) == MB


def test_too_large_tensors_have_torchs_error():
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory"):
        bytes_of(1 << 60)


def test_the_profiler_sees_the_memory():
    with torch.profiler.profile(profile_memory=True) as seen:
        bytes_of(3 * MB)
    assert sum(e.self_cpu_memory_usage for e in seen.events() if e.name == "aten::empty") >= 3 * MB


def test_threads():
    wrong = []

    def work(seed):
        draw, alive = random.Random(seed), []
        for _ in range(400):
            t = torch.full((draw.choice([80_000, 300_000]),), seed, dtype=torch.int32)
            alive.append(t)
            if len(alive) > 5:
                t = alive.pop(draw.randrange(len(alive)))
                if not bool((t == seed).all()):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent():
    done = threading.Event()

    def work():
        while not done.is_set():
            bytes_of(MB)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(50):
            child = os.fork()
            if child == 0:
                bytes_of(MB)
                bytes_of(5 * MB)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        for t in threads:
            t.join()
