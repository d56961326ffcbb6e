"""A process that times workloads on request, so that frameworks can take turns without restarts."""

import json
import os
import sys
import time

from tests.benchmarks import memory
from tests.benchmarks.pace import Pace

# the sizes of batches on which training steps are timed
BATCHES = (1, 4, 16, 64, 256)
# The threads of a program. Several threads wait for each other, so the time of their steps is wall-clock time.
THREADS = int(os.environ.get("OMP_NUM_THREADS", 1))


def serve(workloads, clock=time.process_time if THREADS == 1 else time.perf_counter, finish=None, warm=0, patience=10):
    """Answer lines of {"name", "samples", "inner"} on stdin with the median seconds of a step, lines of {"name",
    "steps"} with the bytes by which a program and so many steps raise the peak of resident memory.

    Samples from a slow core are taken again for `patience` seconds. Answers have the least time of the loop that tells
    ("pace"; requests can contain that of another process of the same interpreter) and the number of samples that are
    from a slow core nevertheless ("slow"). Programs of several threads or processes, or on a GPU, are not judged: what
    they do between samples slows the loop.

    `workloads` maps a name to a function that sets up and returns the step; for other names the answer is null.
    Set-up and at least two warm-up runs happen once, at the first request. Times are CPU time of all threads, which
    excludes other programs on a busy machine, and wall-clock time if there is more than one.
    `clock`: another clock; a wall clock for MXNet, whose own threads compute while Python continues.
    `warm`: seconds for which steps run before they are timed, in which memory allocators adapt to large networks.
    `finish`: a function that waits until a GPU has done its work; then the time is wall-clock time, too.
    """
    clock = time.perf_counter if finish else clock
    judged = patience > 0 and THREADS == 1 and not finish
    finish = finish or (lambda: None)
    steps, pace = {}, Pace()
    for line in sys.stdin:
        request = json.loads(line)
        name, inner = request["name"], request.get("inner", 1)
        if name not in workloads:
            print(json.dumps({"value": None}), flush=True)
            continue
        try:
            if "steps" in request:
                print(json.dumps({"value": memory.growth(workloads[name], request["steps"])}), flush=True)
                continue
            if name not in steps:
                steps[name] = workloads[name]()
                count, end = 0, time.perf_counter() + warm
                while count < 2 * inner or time.perf_counter() < end:
                    steps[name]()
                    finish()
                    count += 1
                    if judged:
                        pace.slow()
            step = steps[name]

            def sample(step=step, inner=inner):
                start = clock()
                for _ in range(inner):
                    step()
                finish()
                return (clock() - start) / inner

            if judged:
                pace.least = min(pace.least, request.get("pace", pace.least))
                times, slow = pace.samples(sample, request["samples"], patience)
                answer = {"pace": pace.least, "slow": slow}
            else:
                times, answer = [sample() for _ in range(request["samples"])], {}
            answer["value"] = sorted(times)[len(times) // 2]
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
