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


def test_kept_pages_are_divided_and_joined():
    text = """
import torch
from compatgrad import _C
made = lambda mb: torch.empty(mb << 20, dtype=torch.uint8)
whole = made(64)
start = whole.data_ptr()
del whole
parts = [made(8) for _ in range(7)]  # 60 of the 64 MB are kept
print({p.data_ptr() - start for p in parts} == {k << 23 for k in range(7)})
places = [p.data_ptr() for p in parts]
for k in (1, 3, 2):  # joined with what follows, with what comes before, with both
    parts[k] = None
print(made(24).data_ptr() == places[1], _C.memory_amounts()[:2] == (32 << 20, 28 << 20))
parts.clear()
print(made(60).data_ptr() == start, _C.memory_amounts()[:2] == (0, 60 << 20))
"""
    assert in_process(text) == ["True"] * 5


def test_tensors_never_overlap():
    draw, alive = random.Random(1), []
    for k in range(2000):
        if alive and draw.random() < 0.48:
            t, value = alive.pop(draw.randrange(len(alive)))
            assert int(t[0]) == int(t[-1]) == int(t[len(t) // 2]) == value
        else:
            t = bytes_of(draw.randrange(1 << 18, 6 * MB))
            t[:: 1 << 12] = k % 251
            t[-1] = t[len(t) // 2] = k % 251
            alive.append((t, k % 251))
    spans = sorted((t.data_ptr(), t.data_ptr() + t.nbytes) for t, _ in alive)
    assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))


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
    used, kept, _ = _C.memory_amounts()
    peak, bytes = max(peak, used), sum(t.nbytes for t in alive)
    assert used + kept <= peak * 23 // 16, (used, kept, peak)
    assert bytes <= used <= bytes + 4096 * len(alive), (used, bytes)
alive.clear()
print(_C.memory_amounts()[0])
"""
    assert in_process(text) == ["0"]


def test_a_step_that_is_repeated_asks_the_system_for_nothing():
    text = """
import torch
from compatgrad import _C
sizes = [300_000, 400_000, 1_000_000, 2_000_000, 300_000, 1_000_000, 700_000]
def made(size):
    t = torch.empty(size, dtype=torch.uint8)
    t[::4096] = 1
    return t
def step():  # forward keeps a result of each layer, backward has two gradients at a time
    kept = []
    for size in sizes:
        made(2 * size)
        kept.append(made(size))
    gradient = made(300_000)
    while kept:
        gradient = made(kept.pop().nbytes)
faults = lambda: int(open("/proc/self/stat").read().split()[9])
for _ in range(30):
    step()
before = faults()
for _ in range(20):
    step()
print(faults() - before)
"""
    at_once = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}  # as glibc begins
    (few,), (many,) = (in_process(text, COMPATGRAD_KEEP_MEMORY=k, **at_once) for k in "10")
    assert int(few) < 20 < int(many)


def test_memory_of_a_large_phase_goes_back_to_the_system():
    large = [bytes_of(20 * MB) for _ in range(10)]
    del large
    assert _C.memory_amounts()[1] >= 180 * MB
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
    assert before - after > 180e6
    assert bytes_ == 0
    bytes_of(3 * MB)
    assert 2 * MB < compatgrad.release_memory() <= 3 * MB


def test_nothing_is_kept_if_the_environment_says_so():
    text = "import torch\nfrom compatgrad import _C\nt = torch.ones(10_000_000)\ndel t\nprint(*_C.memory_amounts())"
    assert in_process(text, COMPATGRAD_KEEP_MEMORY="0") == ["0", "0", "0"]
    for on in ("", "1"):
        used, kept, most = map(int, in_process(text, COMPATGRAD_KEEP_MEMORY=on))
        assert used == 0
        assert 36e6 < kept < 40e6 < most <= 1 << 30


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
