"""python -m tests.benchmarks [--quick] [--chainer PYTHON] [--nnabla PYTHON] [--mxnet PYTHON] [--jax PYTHON]
                           [--compiled] [--limit] [--large [--device cuda]] [--data] [--memory]
                           [--threads N] [--frontend NAME] [--against NAME...] [--json FILE] [--only WORD...]

Starts one process per framework, which take turns at each workload, on one thread unless --threads says otherwise.
Prints the medians over the rounds, and medians of the ratios within each round, which do not depend on changes of the
machine's speed.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import typing

from tests.benchmarks import data, recorded
from tests.benchmarks.workloads import (
    BATCHES,
    BEST,
    CANNOT,
    CHAINER,
    CHAINS,
    COMPILED,
    COMPILED_HERE,
    DATA,
    DYNAMIC,
    FRONTEND,
    FRONTENDS,
    GROWTHS,
    JAX,
    LARGE,
    MEMORIES,
    MX,
    MXNET,
    NATIVE,
    NN,
    NNABLA,
    NNABLA_DYNAMIC,
    NNABLA_STATIC,
    ORDERS,
    ORIGINALS,
    OTHERS,
    PAIRS,
    RATES,
    RECURRENT,
    SECOND,
    STATIC,
    STEPS,
    TARGETS,
    TORCH,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The environment of the programs; --threads changes the number of threads.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ENVIRONMENT = {**os.environ, **dict.fromkeys(THREADS, "1")}
# Options of glibc for measuring memory: large blocks are returned to the system at once.
RETURN_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


class Worker:
    """A process of one framework that times workloads on request."""

    paces: typing.ClassVar[dict[str, float]] = {}  # interpreter -> the least time of the loop of `pace`
    slow = 0  # samples that are from a slow core, of all processes

    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, name: str, inner: int, samples: int) -> float | None:
        """The median seconds of a step; None if the process has no program for the workload."""
        interpreter = self.process.args[0]
        request = {"name": name, "inner": inner, "samples": samples}
        if interpreter in Worker.paces:
            request["pace"] = Worker.paces[interpreter]
        answer = self._answer(request)
        if "pace" in answer:
            Worker.paces[interpreter] = answer["pace"]
            Worker.slow += answer["slow"]
        return answer["value"]

    def growth(self, name: str) -> float | None:
        """The bytes by which a program and its first steps raise the peak of the process's memory, or None."""
        return self._answer({"name": name, "steps": 3})["value"]

    def _answer(self, request: dict[str, object]) -> dict[str, typing.Any]:
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"error": f"ended with {self.process.wait()}"}
        if "error" in answer:
            raise RuntimeError(f"{request['name']}: {' '.join(map(str, self.process.args))}: {answer['error']}")
        return answer

    def close(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(30)


def cannot_import(python: str, framework: str) -> str | None:
    """The last line of the error with which an interpreter fails to import a framework, or None."""
    done = subprocess.run(
        [python, "-c", f"import {framework}"], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True
    )
    return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1] if done.returncode else None


def commands(module: str, pythons: dict[str, str | None], device: str = "cpu") -> dict[str, list[str]]:
    """Framework -> the command of `tests.benchmarks.<module>_…`; `pythons`: interpreters of the available originals.

    `device`: where the programs of large networks compute; on a GPU those of Chainer and torch.
    """
    run = [sys.executable, "-m"]
    legacy = [*run, "compatgrad", "run", "-m"]
    found = {
        TORCH: [*run, f"tests.benchmarks.{module}_torch"],
        FRONTEND: [*legacy, f"tests.benchmarks.{module}_chainer"],
    }
    if module == "memory":
        return found
    if module == "large":
        found[BEST] = [*found[TORCH], "best"]
        if device == "cuda":
            if pythons.get("chainer"):
                found[CHAINER] = [pythons["chainer"], "-m", "tests.benchmarks.large_chainer"]
            return {framework: [*command, device] for framework, command in found.items()}
    if module == "data":
        for framework, original, name in ((FRONTEND, CHAINER, "chainer"), (NN, NNABLA, "nnabla"), (MX, MXNET, "mxnet")):
            found[framework] = [*legacy, f"tests.benchmarks.data_{name}"]
            if python := pythons.get(name):
                found[original] = [python, "-m", f"tests.benchmarks.data_{name}"]
        return found
    if module == "steps" and pythons.get("compiled"):
        found[COMPILED] = [*run, "tests.benchmarks.steps_torch", "compiled"]
    if module == "steps" and pythons.get("jax"):
        found[JAX] = [pythons["jax"], "-m", "tests.benchmarks.steps_jax"]
    if module in ("chain", "second"):
        found[NATIVE] = [*run, f"tests.benchmarks.{module}_native"]
    if module == "second":
        if pythons.get("jax"):
            found[JAX] = [pythons["jax"], "-m", "tests.benchmarks.second_jax"]
        if pythons.get("compiled"):
            found[COMPILED_HERE] = [*found[FRONTEND], "compiled"]
        if pythons.get("chainer"):
            found[CHAINER] = [pythons["chainer"], "-m", "tests.benchmarks.second_chainer"]
        return found
    for framework, original, name, *mode in [
        (FRONTEND, CHAINER, "chainer"),
        (STATIC, NNABLA_STATIC, "nnabla", "static"),
        (DYNAMIC, NNABLA_DYNAMIC, "nnabla", "dynamic"),
        (MX, MXNET, "mxnet"),
    ]:
        if module == "large" and framework == DYNAMIC:
            continue
        program = [f"tests.benchmarks.{module}_{name}", *mode]
        found[framework] = [*legacy, *program]
        if python := pythons.get(name):
            found[original] = [python, "-m", *program]
    return found


def memory_commands(nnabla: str, kind: str) -> dict[str, list[str]]:
    """The commands of `tests.benchmarks.memory_nnabla` on compatgrad and on the original."""
    program = ["-m", "tests.benchmarks.memory_nnabla", kind]
    return {STATIC: [sys.executable, "-m", "compatgrad", "run", *program], NNABLA_STATIC: [nnabla, *program]}


def measure_times(workloads, rounds, quick, frameworks):
    """Let the frameworks take turns. Return {workload: {framework: [seconds of each round]}}."""
    workers = {framework: Worker(command) for framework, command in frameworks.items()}
    times = {}
    try:
        for name, (inner, samples) in workloads.items():
            able = {key: worker for key, worker in workers.items() if (name, key) not in CANNOT}
            times[name] = {framework: [] for framework in able}
            for framework, worker in list(able.items()):  # set-up and warm-up, which no round counts
                if worker.seconds(name, inner, 1) is None:
                    del able[framework], times[name][framework]
            for _ in range(rounds):
                for framework, worker in able.items():
                    seconds = worker.seconds(name, inner, max(3, samples // 3) if quick else samples)
                    times[name][framework].append(seconds)
    finally:
        for worker in workers.values():
            worker.close()
    return times


def measure_memory(rounds, frameworks, environment):
    """{framework: [bytes of each round]} by which training steps raise the peak of memory."""
    peaks = {}
    for _ in range(rounds):
        for framework, command in frameworks.items():
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
            peaks.setdefault(framework, []).append(int(done.stdout.split()[-1]))  # nnabla prints a banner first
    return peaks


def measure_growths(name, rounds, frameworks):
    """{framework: [bytes of each round]} by which the first steps of a program raise the peak of a new process."""
    peaks = {}
    for _ in range(rounds):
        for framework, command in frameworks.items():
            worker = Worker(command)
            try:
                grown = worker.growth(name)
            finally:
                worker.close()
            if grown is not None:
                peaks.setdefault(framework, []).append(grown)
    return peaks


def rows(workload, values, unit, scale, target=None):
    """Yield a row for each pair of frameworks to compare. Ratios are those of times, also where the unit is a rate."""

    def shown(times):
        return scale / statistics.median(times) if unit in RATES else statistics.median(times) * scale

    for framework, other in PAIRS:
        if framework in values and other in values:
            ratio = statistics.median(a / b for a, b in zip(values[framework], values[other], strict=True))
            limit = TARGETS.get((workload, framework, other)) if target is None else target
            yield {
                "workload": workload,
                "framework": framework,
                "against": other,
                "value": shown(values[framework]),
                "other": shown(values[other]),
                "unit": unit,
                "ratio": ratio,
                "target": limit,
                "met": None if limit is None else ratio <= limit,
            }


def show_limit(workload, values, least):
    """How much of the time of a step its products and the movement of its parameters take at the machine's limits."""
    for framework in (FRONTEND, STATIC, DYNAMIC, MX):
        if framework in values:
            seconds = statistics.median(values[framework])
            parts = ", ".join(f"{name} {least[name] / seconds:.0%}" for name in least)
            print(f"{workload:<19} {framework:<10} of its time at this machine's limit: {parts}", flush=True)


def show(row):
    target, met = "", ""
    # Targets against the originals are shown as factors of speed.
    fast = row["against"] in ORIGINALS and row["unit"] != "MB"
    if row["target"] is not None:
        target = f"{1 / row['target']:.3g} x faster" if fast else f"<= {row['target']:.2f}"
        met = "met" if row["met"] else "NOT MET"
    ratio = f"{1 / row['ratio']:.1f} x faster" if fast else f"{row['ratio']:.2f}"
    digits = 0 if row["unit"] in RATES else 3
    values = (f"{row['value']:.{digits}f}", f"{row['other']:.{digits}f}", row["unit"])
    table_row(row["workload"], row["framework"], row["against"], *values, ratio, target, met)


def table_row(*cells):
    layout = ("<19", "<10", "<15", ">9", ">9", "<5", ">13", ">12", "<7")
    print(" ".join(format(cell, width) for cell, width in zip(cells, layout, strict=True)).rstrip(), flush=True)


def parser():
    made = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measures the same programs on compatgrad, torch and the originals that are given, in turns.",
    )
    made.add_argument("--quick", action="store_true", help="three short rounds")
    made.add_argument("--rounds", type=int, help="how often each framework has its turn (default 7, quick 3)")
    made.add_argument("--chainer", metavar="PYTHON", help="an interpreter in which real Chainer 7.8.1 runs")
    made.add_argument("--nnabla", metavar="PYTHON", help="an interpreter in which real nnabla 1.39.0 runs")
    made.add_argument("--mxnet", metavar="PYTHON", help="an interpreter in which real MXNet 1.9.1 runs")
    made.add_argument("--jax", metavar="PYTHON", help="an interpreter with JAX, in which training steps are jitted")
    made.add_argument(
        "--compiled", action="store_true",
        help="add torch's training steps compiled by torch.compile, and MAML compiled by interop.compile",
    )  # fmt: skip
    made.add_argument("--limit", action="store_true", help="print the share of the machine's limit")
    made.add_argument("--large", action="store_true", help="large networks, and nothing else")
    made.add_argument(
        "--data", action="store_true", help="how many images a second iterators and loaders read, and nothing else"
    )
    made.add_argument(
        "--memory", action="store_true", help="by how much training steps raise the peak of memory, and nothing else"
    )
    made.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="where large networks compute (cpu)")
    made.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each program (default 1)")
    made.add_argument(
        "--frontend", choices=list(FRONTENDS), help="only programs of this frontend and of the native API"
    )
    made.add_argument(
        "--against", nargs="+", metavar="NAME",
        help="compare only with these programs: torch, 'torch best', 'compiled torch', JAX, Chainer, 'nnabla static', "
        "'nnabla dynamic', nnabla or MXNet",
    )  # fmt: skip
    made.add_argument("--json", metavar="FILE", help="record the rows in FILE, or print them as JSON for -")
    made.add_argument("--only", nargs="+", metavar="WORD", help="only workloads whose name contains a word")
    return made


def mistake(args, pythons):
    """What is wrong with the options, or None."""
    for name, python in pythons.items():
        if python and not shutil.which(python):
            return f"--{name}: there is no interpreter {python}"
        if python and (failure := cannot_import(python, name)):
            return f"--{name}: {python} cannot import {name}: {failure}"
    if args.device != "cpu" and not args.large:
        return "--device: only large networks (--large) compute on a GPU"
    if args.threads < 1:
        return f"--threads: expected at least 1, got {args.threads}"
    if args.rounds is not None and args.rounds < 1:
        return f"--rounds: expected at least 1, got {args.rounds}"
    if args.threads > 1 and args.jax:
        return "--threads: the programs of JAX use one thread"
    if unknown := sorted(set(args.against or ()) - OTHERS):
        return f"--against: expected names of {', '.join(sorted(OTHERS))}, got {', '.join(unknown)}"
    measured = {
        "large": LARGE,
        "data": DATA,
        "memory": GROWTHS,
        None: (*CHAINS, *ORDERS, *STEPS, *BATCHES, *RECURRENT, *SECOND, *LARGE, *MEMORIES),
    }[alone(args)]
    if absent := [word for word in args.only or () if not any(word in name for name in measured)]:
        named = ", ".join(map(repr, absent))
        return f"--only: no workload has {named} in its name; there are {'; '.join(measured)}"
    return None


def alone(args):
    """The kind of workloads beside which nothing else is measured, or None."""
    return "large" if args.large else "data" if args.data else "memory" if args.memory else None


class Run:
    """One run of the benchmarks: `rows`, and the machine's limits by workload.

    `pythons`: the interpreters of the available originals.
    """

    def __init__(self, args, pythons):
        self.args, self.pythons = args, pythons
        self.rounds = args.rounds or (3 if args.quick else 7)
        self.rows, self.limits = [], {}
        self.shows = args.json != "-"

    def measure(self):
        for module, workloads, unit, scale in [
            ("chain", CHAINS, "us/op", 1e6 / 200),
            ("chain", ORDERS, "us", 1e6),
            ("steps", {**STEPS, **BATCHES}, "ms", 1e3),
            ("recurrent", RECURRENT, "ms", 1e3),
            ("second", SECOND if self.args.only else {}, "ms", 1e3),
            ("large", LARGE if self.args.large or self.args.only else {}, "ms", 1e3),
            ("data", DATA if self.args.data else {}, "img/s", None),
        ]:
            frameworks = self.available(module)
            for name, settings in self.chosen(workloads, module).items():
                times = measure_times({name: settings}, self.rounds, self.args.quick, frameworks)
                self.add(name, times[name], unit, scale or data.IMAGES[name])
                if self.args.limit and module in ("steps", "large"):
                    self.add_limit(name, times[name])
        self.measure_memory()

    def measure_memory(self):
        frontend = self.args.frontend
        if self.chosen(dict.fromkeys(MEMORIES[:1])) and frontend in (None, "chainer"):
            environment = {**ENVIRONMENT, **RETURN_MEMORY}
            self.add("memory", measure_memory(3, commands("memory", {}), environment), "MB", 1e-6)
        for name in self.chosen(dict.fromkeys(MEMORIES[1:])):
            if self.args.nnabla and frontend in (None, "nnabla"):
                frameworks = memory_commands(self.args.nnabla, name.split()[1])
                self.add(name, measure_memory(3, frameworks, ENVIRONMENT), "MB", 1e-6)
        for name in GROWTHS if self.args.memory else ():
            if self.chosen({name: None}, "memory"):
                frameworks = self.available("recurrent" if name in RECURRENT else "large")
                self.add(name, measure_growths(name, self.rounds, frameworks), "MB", 1e-6, target=1.0)

    def chosen(self, workloads, module=None):
        only = alone(self.args)
        if only and module != only:
            return {}
        words = self.args.only
        return {k: v for k, v in workloads.items() if not words or any(word in k for word in words)}

    def available(self, module):
        frontend, against = self.args.frontend, self.args.against
        left_out = {key for name, keys in FRONTENDS.items() if frontend not in (None, name) for key in keys}
        if against:
            left_out |= OTHERS.difference(against)
        found = commands(module, self.pythons, self.args.device)
        return {framework: command for framework, command in found.items() if framework not in left_out}

    def add(self, workload, values, unit, scale, target=None):
        for row in rows(workload, values, unit, scale, target):
            self.rows.append(row)
            if self.shows:
                show(row)

    def add_limit(self, workload, times):
        command = [sys.executable, "-m", "tests.benchmarks.limit", workload]
        told = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True)
        self.limits[workload] = json.loads(told.stdout)[workload]
        if self.shows:
            show_limit(workload, times, self.limits[workload])


def main():
    options = parser()
    args = options.parse_args()
    pythons = {name: getattr(args, name) for name in (*FRONTENDS, "jax")}
    if wrong := mistake(args, pythons):
        options.error(wrong)
    ENVIRONMENT.update(dict.fromkeys(THREADS, str(args.threads)))
    if args.data:
        ENVIRONMENT["BENCHMARK_DATA"] = folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "tests.benchmarks.data", folder], cwd=ROOT, check=True)
    run = Run(args, {**pythons, "compiled": sys.executable if args.compiled else None})
    if run.shows:
        table_row("workload", "framework", "against", "median", "other", "", "ratio", "target", "")
    run.measure()
    if Worker.slow:
        print(f"{Worker.slow} samples are from a core that others slowed all the time", file=sys.stderr)
    if args.json:
        text = json.dumps(recorded.merged(args.json, run.rows, run.limits, args.threads, run.rounds), indent=1)
        print(text) if args.json == "-" else pathlib.Path(args.json).write_text(text + "\n")
    if run.shows:
        missed, aimed = (sum(row["met"] in kinds for row in run.rows) for kinds in ([False], [False, True]))
        if not run.rows:
            print("nothing was compared: no program of the chosen frameworks has these workloads")
        elif aimed:
            print(f"{missed} of {aimed} targets not met" if missed else "all targets met")


if __name__ == "__main__":
    main()
