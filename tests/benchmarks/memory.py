"""The increase of peak resident memory by a step. Linux only."""

import gc
import sys


def _resident(field):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status")


def report(step, warm_up=3, repeats=5):
    """Print the median bytes by which a step raises the peak. The allocator must return freed memory to the system;
    what compatgrad keeps is returned before each step."""
    for _ in range(warm_up):
        step()
    peaks = []
    for _ in range(repeats):
        gc.collect()
        if engine := sys.modules.get("compatgrad._C"):
            engine.release_memory()
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # resets the peak
        before = _resident("VmRSS")
        step()
        peaks.append(_resident("VmHWM") - before)
    print(sorted(peaks)[len(peaks) // 2])


def report_growth(step, repeats=2):
    """Print the bytes by which the first steps raise the peak, for frameworks that keep freed memory."""
    gc.collect()
    before = _resident("VmRSS")
    for _ in range(repeats):
        step()
    print(_resident("VmHWM") - before)


def growth(make, steps):
    """The bytes by which `make()`, which returns a step, and `steps` steps raise the peak."""
    gc.collect()
    before = _resident("VmRSS")
    step = make()
    for _ in range(steps):
        step()
    return _resident("VmHWM") - before
