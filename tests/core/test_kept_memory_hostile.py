"""Programs against the memory that is kept for large CPU tensors: steps that it could slow down, limits of the process,
other allocators, and tensors that end in unusual places."""

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
import torch

from compatgrad import _C
from tests.core.test_kept_memory import MB, bytes_of, in_process
from tests.kernels.sanitize import library

GB = 1 << 30
FAULTS = "faults = lambda: int(open('/proc/self/stat').read().split()[9])\n"  # pages that the system cleared
# as glibc begins: other settings of the environment would hide what it does
GLIBC = {"MALLOC_MMAP_THRESHOLD_": "", "MALLOC_TRIM_THRESHOLD_": "", "GLIBC_TUNABLES": "", "OMP_NUM_THREADS": "1"}


def program(text, **environment):
    set_ = {name: value for name, value in {**os.environ, **GLIBC, **environment}.items() if value != ""}
    made = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, env=set_)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()


@pytest.mark.parametrize("size", [300_000, MB, 5 * MB, 40 * MB])
def test_the_shortest_loop_gets_the_memory_back_at_once(size):
    text = f"""
import torch
from compatgrad import _C
{FAULTS}
x = torch.ones({size} // 4)
for _ in range(20):
    y = x + 1
    del y
before = faults()
for _ in range(50):
    y = x + 1
    del y
print(faults() - before)
"""
    assert int(program(text)[0]) < 20


@pytest.mark.parametrize("largest", [2 * MB, 16 * MB])
def test_sizes_that_vary(largest):
    text = f"""
import random, torch
from compatgrad import _C
draw, alive, place, fresh, total, most = random.Random(2), [], set(), 0, 0, 0
for k in range(4000):
    used, kept, _ = _C.memory_amounts()
    t = torch.empty(draw.randrange({largest} // 2, {largest}), dtype=torch.uint8)
    if k >= 2000:
        more = sum(_C.memory_amounts()[:2]) > used + kept  # or what is kept would have become less by as much
        fresh, total = fresh + more, total + 1
    alive.append(t)
    del t
    if len(alive) > 8:
        alive.pop(draw.randrange(9))
print(fresh / total)
"""
    assert float(program(text)[0]) < 0.08


def test_smaller_tensors_beside_large_ones_cost_no_pages():
    # glibc returns them to the system after each step unless it sees that large blocks are freed, too
    text = f"""
import torch
from compatgrad import _C
{FAULTS}
def step():
    large = torch.ones(2 << 20)
    small = [torch.ones(50_000) for _ in range(50)]
    del large
for _ in range(5):
    step()
before = faults()
for _ in range(10):
    step()
print(faults() - before)
"""
    assert int(program(text)[0]) < 100  # 24,000 if each step paid for its pages


def test_resident_memory_stays_near_that_of_the_tensors():
    text = f"""
import random, torch
from compatgrad import _C
torch.ones(100) + 1
peak = lambda name: next(int(x.split()[1]) << 10 for x in open("/proc/self/status") if x.startswith(name))
before, draw, alive, most = peak("VmRSS"), random.Random(1), [], 0
for k in range(3000):
    t = torch.empty(draw.randrange(1 << 19, 16 << 20), dtype=torch.uint8)
    t[::4096] = 1
    alive.append(t)
    most = max(most, sum(len(t) for t in alive))
    if len(alive) > draw.choice([2, 8, 8]):
        alive.pop(draw.randrange(len(alive)))
print((peak("VmHWM") - before - {8 * MB}) / most)
"""
    assert float(program(text)[0]) < 1.6  # torch alone: 1.9


@pytest.mark.slow
def test_memory_of_a_large_phase_goes_back_when_a_program_becomes_slow():
    text = """
import time, torch
from compatgrad import _C
large = [torch.empty(20 << 20, dtype=torch.uint8) for _ in range(10)]
del large
print(_C.memory_amounts()[1])
for _ in range(3):
    time.sleep(10.1)
    torch.empty(1 << 20, dtype=torch.uint8)
print(_C.memory_amounts()[1])
"""
    before, after = map(int, program(text))
    assert before > 180 * MB
    assert after <= 2 * MB


@pytest.mark.parametrize("size, count", [(400 * MB, 1), (250 * MB, 1), (200_000, 2000)])
def test_kept_memory_goes_back_before_memory_runs_out(size, count):
    text = f"""
import resource, torch
from compatgrad import _C
torch.set_num_threads(1)
large = [torch.empty(16 << 20, dtype=torch.uint8) for _ in range(40)]
del large
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (64 << 20),) * 2)
print(_C.memory_amounts()[1] > 500 << 20)
some = [torch.empty({size}, dtype=torch.uint8) for _ in range({count})]
print(some[-1].fill_(3)[-1].item())
try:
    torch.empty({GB}, dtype=torch.uint8)
except RuntimeError as error:
    print("allocate memory" in str(error), _C.memory_amounts()[1])
print(torch.ones(1000).sum().item())
"""
    assert program(text) == ["True", "3", "True", "0", "1000.0"]


@pytest.mark.parametrize("name, limit", [("AS", 6 * GB), ("DATA", 3 * GB), ("DATA", 100 * GB)])
def test_an_eighth_of_a_limit_is_kept(name, limit):
    text = f"""
import resource
resource.setrlimit(resource.RLIMIT_{name}, ({limit},) * 2)
import torch
torch.set_num_threads(1)
from compatgrad import _C
print(_C.memory_amounts()[2])
"""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    (most,) = program(text)
    assert int(most) == min(limit // 8, GB) or int(most) <= pages // 8 < GB


def test_an_eighth_of_the_limit_of_the_control_group_is_kept():
    groups = [line.rstrip("\n").split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    path = next((path for _, kind, path in groups if kind == "memory"), None)
    name = f"compatgrad-{uuid.uuid4().hex}"
    if path is not None:
        group = Path("/sys/fs/cgroup/memory" + path, name)
    else:
        group = Path("/sys/fs/cgroup" + next(path for _, _, path in groups), name)
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if path is not None else "memory.max")).write_text(str(2 * GB))
    except OSError:
        pytest.skip("needs a control group in which this process may make another")
    text = f"""
import os
open("{group}/cgroup.procs", "w").write(str(os.getpid()))
from compatgrad import _C
print(_C.memory_amounts()[2])
"""
    try:
        assert program(text) == [str(2 * GB // 8)]
    finally:
        group.rmdir()


def test_a_forked_child_begins_with_nothing_and_its_parent_keeps_all():
    text = """
import os, torch
from compatgrad import _C
x = torch.full((1 << 20,), 7.0)
for _ in range(5):
    torch.empty(40 << 20, dtype=torch.uint8)
before = _C.memory_amounts()
child = os.fork()
if child == 0:
    ok = _C.memory_amounts()[1] == 0 and x.sum().item() == 7 << 20
    y = x + 1
    del x
    os._exit(0 if ok and y.sum().item() == 8 << 20 and _C.memory_amounts()[1] >= 3 << 20 else 1)
print(os.waitpid(child, 0)[1], _C.memory_amounts() == before, before[1] > 30 << 20)
"""
    assert program(text) == ["0", "True", "True"]


@pytest.mark.parametrize("wish", ["off", "2", "false", " 0"])
def test_other_words_than_0_and_1_are_refused(wish):
    text = "try:\n    from compatgrad import _C\nexcept ValueError as error:\n    print(error)"
    assert " ".join(program(text, COMPATGRAD_KEEP_MEMORY=wish)) == (
        f"COMPATGRAD_KEEP_MEMORY must be 0 or 1, got '{wish}'".replace("'  ", "' ")
    )


@pytest.mark.parametrize("wish, words", [("0", "none"), ("1", "MiB of freed CPU tensors"), ("no", "must be 0 or 1")])
def test_info_says_how_much(wish, words):
    made = subprocess.run(
        [sys.executable, "-m", "compatgrad", "info"],
        capture_output=True,
        text=True,
        env={**os.environ, "COMPATGRAD_KEEP_MEMORY": wish},
    )
    (row,) = (line for line in made.stdout.splitlines() if line.startswith("kept memory:"))
    assert row.endswith(words) or words in row.split("unknown: ")[-1]


def test_under_address_sanitizer_nothing_is_kept():
    asan = library("libasan.so")
    if not os.path.isabs(asan):
        pytest.skip("the compiler has no AddressSanitizer")
    text = "import torch\nfrom compatgrad import _C\ntorch.ones(4 << 20)\nprint(*_C.memory_amounts())"
    options = "detect_leaks=0:verify_asan_link_order=0"
    assert program(text, LD_PRELOAD=asan, ASAN_OPTIONS=options) == ["0", "0", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
def test_an_allocator_of_another_library_remains(first, tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a compiler")
    (tmp_path / "other.cpp").write_text("""
#include <c10/core/CPUAllocator.h>
static long count = 0;
struct Other final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override { ++count; return c10::GetDefaultCPUAllocator()->allocate(n); }
  c10::DeleterFnPtr raw_deleter() const override { return c10::GetDefaultCPUAllocator()->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t n) const override { default_copy_data(to, from, n); }
};
extern "C" void put() { c10::SetCPUAllocator(new Other, 255); }
extern "C" long counted() { return count; }
""")
    home = Path(torch.__file__).parent
    made = tmp_path / "libother.so"
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    subprocess.run(
        [compiler, "-std=c++20", "-shared", "-fPIC", abi, f"-I{home}/include", tmp_path / "other.cpp", "-o", made,
         f"-L{home}/lib", "-lc10", f"-Wl,-rpath,{home}/lib"],
        check=True,
    )  # fmt: skip
    text = f"""
import ctypes, torch
early = torch.ones(2 << 20).to_mkldnn() if torch.backends.mkldnn.is_available() else torch.ones(2 << 20)
other = ctypes.CDLL("{made}")
if {first}:
    other.put()
from compatgrad import _C
between = [torch.ones(1 << 20), torch.ones(10)]
if not {first}:
    other.put()
before = other.counted()
late = torch.ones(1 << 20) + 1
print(other.counted() > before, _C.memory_amounts()[0] >> 20)
between[0].resize_(4 << 20)[0] = 3
between.clear()
del late, early
print(_C.memory_amounts()[0])
"""
    assert program(text) == ["True", "0" if first else "4", "0"]


def test_memory_of_before_the_import_and_of_onednn():
    text = """
import torch
early = [torch.full((1 << 20,), 2.0), torch.ones(300_000, dtype=torch.uint8), torch.ones(10)]
dnn = torch.backends.mkldnn.is_available()
opaque = torch.ones(64, 64, 64, 4).to_mkldnn() if dnn else None
from compatgrad import _C
early[0].resize_(2 << 20)[:] = 5
opaque2 = torch.ones(64, 64, 64, 4).to_mkldnn() if dnn else None
if dnn:
    print((opaque + opaque2).to_dense().sum().item() == 2 << 20)
else:
    print(True)
del opaque, opaque2
early.clear()
print(_C.memory_amounts()[0])
"""
    assert program(text) == ["True", "0"]


def test_storages_that_are_resized_exchanged_and_emptied():
    t = torch.arange(100_000)  # 800 kB
    s = t.untyped_storage()
    for size in (10 * MB, 0, 400_000, 100, 3 * MB, 0):
        old = min(size, 400) // 8
        s.resize_(size)
        if size:
            view = torch.tensor([], dtype=torch.int64).set_(s, 0, (size // 8,))
            view[:] = torch.arange(size // 8)
            assert view[old - 1] == old - 1 and view[-1] == size // 8 - 1
            del view
    a, b = torch.full((MB,), 1.0), torch.full((2 * MB,), 2.0)
    a.data, b.data = b.data, a.data
    assert a.sum() == 4 * MB and b.sum() == MB
    a.set_()
    assert bytes_of(8 * MB).fill_(1).sum() == 8 * MB and b.sum() == MB


def test_arrays_of_others_outlive_their_tensors():
    import numpy as np

    t = torch.arange(MB)
    views = [np.from_dlpack(t), t.numpy()[5:], memoryview(t.numpy()), torch.from_dlpack(t.numpy()), t[7:].view(-1)]
    del t
    for _ in range(3):
        bytes_of(8 * MB).fill_(255)
    assert [int(view[100]) for view in views] == [100, 105, 100, 100, 107]
    views.clear()
    assert torch.from_numpy(np.full(MB, 3.0)).sum() == 3 * MB  # NumPy's own memory


def test_files_and_shared_memory(tmp_path):
    whole = {"a": torch.arange(MB), "b": torch.full((2 * MB,), 0.5)}
    torch.save(whole, tmp_path / "whole.pt")
    for mmap in (False, True):
        read = torch.load(tmp_path / "whole.pt", mmap=mmap)
        assert torch.equal(read["a"], whole["a"]) and torch.equal(read["b"], whole["b"])
        read["a"].add_(1)
        del read
        bytes_of(8 * MB).fill_(9)
    shared = whole["a"].share_memory_()
    view = shared[5:]
    del whole, shared
    bytes_of(8 * MB).fill_(9)
    assert view[0] == 5 and view.is_shared()


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_send_tensors(context, tmp_path):
    (tmp_path / "program.py").write_text(f"""
import torch
from compatgrad import _C

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, k):
        old = torch.full((1 << 18,), -1.0)
        del old
        return torch.full((1 << 18,), float(k))

def work(queue, t):
    t += 1
    queue.put(torch.full((1 << 18,), 9.0))
    queue.get()

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.ones(8 << 20)
    loader = torch.utils.data.DataLoader(Data(), batch_size=3, num_workers=2, multiprocessing_context="{context}")
    batches = list(loader)
    torch.ones(8 << 20)
    print([b.mean().item() for b in batches])
    process = torch.multiprocessing.get_context("{context}")
    there, back, t = process.Queue(), process.Queue(), torch.zeros(1 << 20).share_memory_()
    worker = process.Process(target=work, args=(there, t))
    worker.start()
    got = there.get()
    there.put(None)
    worker.join()
    torch.ones(8 << 20)
    print(got.mean().item(), t.mean().item(), worker.exitcode)
""")
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "program.py"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert made.stdout.splitlines() == ["[1.0, 4.0, 7.0, 10.0]", "9.0 1.0 0"], made.stderr


def test_tensors_that_end_with_the_interpreter_or_in_other_threads():
    text = """
import atexit, sys, threading, weakref, torch
from compatgrad import _C
everywhere = [torch.ones(1 << 20) for _ in range(4)]
sys.kept_beyond = torch.ones(1 << 20)
class Cycle: pass
c = Cycle(); c.c = c; c.t = torch.ones(1 << 20)
weakref.finalize(c, lambda t: t.add_(1), torch.ones(1 << 20))
atexit.register(lambda: print(torch.ones(1 << 20).sum().item()))
box = [torch.ones(1 << 20) for _ in range(8)]
def empty():
    while box:
        box.pop()
threads = [threading.Thread(target=empty) for _ in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
local = threading.local(); local.t = torch.ones(1 << 20)
threading.Thread(target=lambda: [torch.ones(1 << 20) for _ in range(10 ** 4)], daemon=True).start()
print(len(box))
"""
    assert program(text) == ["0", f"{float(MB)}"]


def test_the_profilers_balance_of_memory():
    with torch.profiler.profile(profile_memory=True) as seen:
        t = bytes_of(3 * MB)
        t.untyped_storage().resize_(5 * MB)
        del t
    changes = [e.self_cpu_memory_usage for e in seen.events() if e.name in ("aten::empty", "[memory]")]
    assert sum(changes) == 0
    assert sum(c for c in changes if c > 0) >= 3 * MB


def test_transforms_and_scripts_of_torch():
    @torch.jit.script
    def twice(x: torch.Tensor):
        y = x + x
        return y * 2

    x = torch.full((64, 8192), 1.5)
    for _ in range(4):
        assert twice(x).sum() == 4 * x.sum()
    rows = torch.vmap(lambda r: (r * r).sum())(x)
    slope = torch.func.vmap(torch.func.grad(lambda r: (r * r).sum()))(x)
    assert torch.equal(rows, torch.full((64,), 2.25 * 8192)) and torch.equal(slope, 2 * x)


def test_a_clone_that_is_made_when_it_is_written():
    t = torch.full((MB,), 3.0)
    later = torch._lazy_clone(t)
    later[0] = 4.0
    assert t[0] == 3.0 and later[1] == 3.0
    del t
    bytes_of(4 * MB).fill_(255)
    assert later[-1] == 3.0


def test_amounts_of_this_process():
    used, kept, most = _C.memory_amounts()
    assert in_process("from compatgrad import _C\nprint(_C.memory_amounts()[2])") == [str(most)]
    assert used >= 0 and kept <= most
