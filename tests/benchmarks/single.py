"""Times single calls of compatgrad and of the originals, in turns:

    python -m tests.benchmarks.single [--chainer PYTHON] [--nnabla PYTHON] [--mxnet PYTHON] [--rounds N]
                                      [--only WORD...]

Prints a row of a table for each call: the original's time, compatgrad's, and the median over the rounds of compatgrad's
time divided by the original's. Times are CPU times of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The names of the calls in the programs `single_*`. A call works on a million float32 numbers unless its name says
# otherwise.
CALLS = {
    "mxnet": (
        "`Activation` of type softrelu", "`Activation` of type softrelu, forward and backward",
        "`LRN` (8 x 64 x 28 x 28)", "`topk` of int32 with equal elements, k = 5", "`topk`, k = 5", "`where` of int8",
        "`where`, forward and backward", "`a + b` of int32", "`a > b` of int32", "`maximum` of int32", "`smooth_l1`",
        "`smooth_l1` of float64", "`attach_grad` and waiting for it", "`infer_shape` of 4 operators",
        "`infer_shape` of 30 operators", "`infer_type` of 4 operators", "`pickle` and back, 20 numbers",
        "`nd.save`, 20 numbers", "`nd.load`, 20 numbers",
    ),
    "nnabla": (
        "`dropout`", "`rand`", "`randn`", "`arange`", "`softsign`", "`softplus`", "`crelu`, forward and backward",
        "`layer_normalization`, 20 numbers",
        "`layer_normalization`, 20 numbers, forward and backward", "`gather_nd`, 20 numbers",
        "`gather_nd`, 20 numbers, forward and backward", "`crelu`, 20 numbers, forward and backward",
        "`constant`, 20 numbers", "`arange`, 20 numbers", "`rand`, 20 numbers", "`randn`, 20 numbers",
    ),
    "chainer": (
        "`huber_loss`", "`huber_loss` of float64", "`softmax_cross_entropy` of float64, forward and backward",
        "`sigmoid_cross_entropy` of float64, forward and backward",
        "`im2col` (8 x 16 x 28 x 28, filters of 3 x 3), forward and backward", "`permutate`", "`repeat` by 2",
        "`tile` by 2", "`repeat` by 2 of float64, forward and backward", "`tile` by 2 of float64, forward and backward",
        "`pad`", "`flip`", "`save_hdf5` of two small layers", "`load_hdf5` of two small layers",
        "`save_npz` of two small layers", "`load_npz` of two small layers",
    ),
}  # fmt: skip
SAMPLES, SECONDS = 9, 0.004  # the samples of a round, and how long one takes at least


def start(frontend: str, python: str | None) -> subprocess.Popen[str]:
    """A process of the program on compatgrad, or with an interpreter on the original."""
    module = f"tests.benchmarks.single_{frontend}"
    command = [python, "-m", module] if python else [sys.executable, "-m", "compatgrad", "run", "-m", module]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def ask(process: subprocess.Popen[str], name: str, samples: int, inner: int) -> float:
    """The median time of a call in seconds."""
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps({"name": name, "samples": samples, "inner": inner}) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    if answer.get("value") is None:
        raise RuntimeError(f"{name}: {answer.get('error', 'the program has no such call')}")
    return float(answer["value"])


def shown(seconds: float) -> str:
    for unit, factor in (("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.1 or unit == "µs":
            return f"{float(f'{seconds * factor:.2g}'):g} {unit}"
    raise AssertionError


def row(name: str, original: subprocess.Popen[str], here: subprocess.Popen[str], rounds: int) -> str:
    inner = {p: max(1, int(SECONDS / ask(p, name, 1, 1))) for p in (original, here)}
    times = [[ask(p, name, SAMPLES, n) for p, n in inner.items()] for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in times)
    first, second = (statistics.median(column) for column in zip(*times, strict=True))
    return f"| {name} | {shown(first)} | {shown(second)} | {ratio:.2f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for frontend in CALLS:
        parser.add_argument(f"--{frontend}", metavar="PYTHON", help=f"an interpreter with the real {frontend}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="calls whose name contains one of the words")
    options = parser.parse_args(arguments)
    pythons = {frontend: python for frontend in CALLS if (python := getattr(options, frontend))}
    if not pythons:
        parser.error("expected an interpreter of an original: " + ", ".join(f"--{name} PYTHON" for name in CALLS))
    for frontend, python in pythons.items():
        if shutil.which(python) is None:
            parser.error(f"--{frontend} {python}: there is no such program")
    of_these = [name for frontend in pythons for name in CALLS[frontend]]
    for word in options.only or ():
        if not any(word in name for name in of_these):
            parser.error(f"--only {word}: no call of {', '.join(pythons)} has this in its name; the calls are "
                         f"{'; '.join(of_these)}")  # fmt: skip
    for frontend, names in CALLS.items():
        if python := pythons.get(frontend):
            names = tuple(name for name in names if not options.only or any(word in name for word in options.only))
            if not names:
                continue
            processes = start(frontend, python), start(frontend, None)
            print(f"\n| {frontend} | original | compatgrad | ratio |\n| --- | ---: | ---: | ---: |")
            for name in names:
                print(row(name, *processes, options.rounds), flush=True)
            for process in processes:
                process.kill()


if __name__ == "__main__":
    main()
