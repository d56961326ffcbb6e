"""Reads mutants of one reader's file, in a process of its own; `run` starts it again behind a mutant that ends it."""

import argparse
import json
import logging
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from typing import NamedTuple

SECONDS = 5  # of computing time that a mutant may take
MEMORY = 4  # times what the whole file needs
IMAGES = 1 << 30  # bytes: Pillow makes room for the size that an image announces, up to a bound of its own
PROGRESS = struct.Struct("<qqq")  # the seed under way, mutants that were taken, and refused


class Problem(NamedTuple):
    seed: int
    kind: str
    words: str


class Setup(NamedTuple):
    """`read` reads the file of a path, and may only raise errors of the named classes, which name the file or its
    folder; `state` tells what it changes."""

    read: object
    state: object = None
    errors: tuple = ("ValueError",)
    memory: int = 48 << 20  # bytes beside: what Python and libraries keep for themselves


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _peak(reset=False):
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return 0
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


class Reading:
    """One reader with its whole file, in a folder."""

    def __init__(self, name, folder):
        from tests.fuzz import readers

        file, make = readers.READERS[name]
        self.path = os.path.join(folder, file)
        self.setup, self.before = make(self.path), None  # what `state` told, until a mutant is taken
        with open(self.path, "rb") as opened:
            self.content = opened.read()
        self.setup.read(self.path)  # imports, and memory that libraries keep
        _peak(reset=True)
        before = _resident()
        self.setup.read(self.path)
        self.limit = MEMORY * max(_peak() - before, 0) + self.setup.memory

    def check(self, seed):
        """(whether the mutant was taken, what is wrong)."""
        from tests.fuzz.mutants import mutant

        with open(self.path, "wb") as file:
            file.write(mutant(self.content, seed))
        if self.setup.state is not None and self.before is None:
            self.before = self.setup.state()
        _peak(reset=True)
        resident = _resident()
        started = time.process_time()
        problems, taken = [], True
        try:
            self.setup.read(self.path)
        except Exception as error:
            taken = False
            kinds = {kind.__name__ for kind in type(error).__mro__}
            words = f"{type(error).__name__}: {error}"[:300]
            if not kinds & set(self.setup.errors):
                problems.append(Problem(seed, "unclear exception", words))
            elif not any(name in str(error) for name in (os.path.basename(self.path), os.path.dirname(self.path))):
                problems.append(Problem(seed, "exception without the file's name", words))
        if time.process_time() - started > SECONDS:
            problems.append(Problem(seed, "hang", f"{time.process_time() - started:.1f} s"))
        peak = _peak() - resident
        if peak > self.limit:
            problems.append(Problem(seed, "memory", f"{peak >> 20} MiB, at most {self.limit >> 20} expected"))
        if taken:
            self.before = None
        elif self.before is not None and (now := self.setup.state()) != self.before:
            problems.append(Problem(seed, "half loaded", words))
            self.before = now
        return taken, problems


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("reader")
    parser.add_argument("first", type=int)
    parser.add_argument("stop", type=int)
    parser.add_argument("out")
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from tests.fuzz import table

    table.use(args.peer)
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as folder, open(args.out + ".seed", "r+b") as progress:
        os.chdir(folder)
        reading = Reading(args.reader, folder)
        soft = _resident() + (6 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (max(soft, 12 << 30), resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_WRONLY)  # libraries write warnings about broken files
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        taken = refused = 0
        with open(args.out, "a") as out:
            for seed in range(args.first, args.stop):
                os.pwrite(progress.fileno(), PROGRESS.pack(seed, taken, refused), 0)
                signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)  # ends the process
                was_taken, found = reading.check(seed)
                signal.setitimer(signal.ITIMER_PROF, 0)
                taken, refused = taken + was_taken, refused + (not was_taken)
                out.writelines(json.dumps(problem) + "\n" for problem in found)
                out.flush()
        os.pwrite(progress.fileno(), PROGRESS.pack(args.stop, taken, refused), 0)
    return 0


def run(reader, first, stop, python=sys.executable, peer=False, root=None):
    """(taken, refused, problems) of the mutants of some seeds."""
    import subprocess

    taken = refused = 0
    problems = []
    root = root or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "problems")
        at = first
        while at < stop:
            with open(out + ".seed", "wb") as file:
                file.write(PROGRESS.pack(at - 1, 0, 0))
            command = [python, "-m", "tests.fuzz.worker", reader, str(at), str(stop), out, *["--peer"] * peer]
            try:
                done = subprocess.run(
                    command, cwd=root, env=environment, capture_output=True, text=True, timeout=60 + (stop - at)
                )
                code, words = done.returncode, done.stderr[-600:]
            except subprocess.TimeoutExpired:
                code, words = -signal.SIGKILL, "waits"
            with open(out + ".seed", "rb") as file:
                seed, more_taken, more_refused = PROGRESS.unpack(file.read())
            taken, refused = taken + more_taken, refused + more_refused
            if code == 0:
                break
            if seed < at:
                raise RuntimeError(f"{reader}: the whole file is not read: {words}")
            kind = "hang" if code in (-signal.SIGPROF, -signal.SIGKILL) else "crash"
            problems.append(Problem(seed, kind, f"signal or status {code}"))
            at = seed + 1
        if os.path.exists(out):
            with open(out) as file:
                problems += [Problem(*json.loads(line)) for line in file]
    return taken, refused, problems


def together(first, stop):
    """The problems of some mutants of every reader, in this process, by reader."""
    from tests.fuzz import readers

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    found = {}
    for name in readers.READERS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                reading = Reading(name, folder)
            except ImportError:  # a package that is not installed
                continue
            found[name] = [problem for seed in range(first, stop) for problem in reading.check(seed)[1]]
            os.chdir("/")
    return found


def counts(problems):
    return dict(Counter(p.kind for p in problems))


if __name__ == "__main__":
    sys.exit(main())
