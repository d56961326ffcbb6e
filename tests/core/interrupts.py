"""Ctrl-C at random times of training steps: `python -m tests.core.interrupts chainer 10000`, or `nnabla`, `mxnet`.

Another process sends SIGINTs. Each must reach the program as KeyboardInterrupt. Afterwards modes, hooks and scopes must
be as before; each array of the parameters and states must have its value from before or after the interrupted call; and
the next step must give the numbers of an undisturbed run.
"""

from __future__ import annotations

import argparse
import collections
import random
import signal
import struct
import subprocess
import sys
import time
from typing import Any

import numpy as np

import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
from compatgrad import _C
from compatgrad.chainer import reporter
from compatgrad.nnabla import parameter
from compatgrad.nnabla.recompute import get_global_recompute
from tests.core.test_fault_at_each_call import MODES, PROGRAMS, Mxnet, Nnabla

STEPS = 4
OF = {"chainer": ("Chainer", "native"), "nnabla": ("nnabla",), "mxnet": ("Gluon", "MXNet")}
# Reads a number of seconds, waits that long, and sends SIGINT to its parent.
SENDER = """
import os, signal, struct, sys, time
while len(data := sys.stdin.buffer.read(8)) == 8:
    time.sleep(struct.unpack("d", data)[0])
    os.kill(os.getppid(), signal.SIGINT)
"""


class Fault(AssertionError):
    """State that an interrupt left behind, or an interrupt that was lost."""


def scopes() -> dict[str, Any]:
    """The global settings that the frontends' `with` blocks change, by name."""
    return {
        "nnabla: no_grad": parameter.current_no_grad,
        "nnabla: parameter scope": id(parameter.current_scope),
        "nnabla: context": nn.get_current_context(),
        "nnabla: recompute": get_global_recompute(),
        "MXNet: block": getattr(mx.gluon.block._BlockScope._current, "value", None),
        "MXNet: names": mx.name.NameManager._current.value,
        "MXNet: attributes": mx.AttrScope._current.value,
        "MXNet: context": mx.current_context(),
        "MXNet: NumPy's shapes and arrays": (mx.util.is_np_shape(), mx.util.is_np_array()),
        "Chainer: reporters": len(getattr(reporter._thread_local, "reporters", ())),
    }


def state(p: Any) -> dict[str, Any]:
    """Copies of arrays, modes, hooks and scopes."""
    found = p.state() | scopes()
    if isinstance(p, Nnabla):
        found |= {f"{name} t": s.t for name, s in p.solver.get_states().items()}
    if isinstance(p, Mxnet):
        found["steps"] = p.trainer._optimizer.num_update, dict(p.trainer._optimizer._index_update_count)
    return found


def persistent(found: dict[str, Any]) -> dict[str, Any]:
    """Parameters and states of the optimizer."""
    return {k: v for k, v in found.items() if "gradient" not in k and k not in ("modes", "gx") and ":" not in k}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    return type(a) is type(b) and bool(a == b)


class Trajectory:
    """The states of an undisturbed run: before any call, and after each."""

    def __init__(self, build: Any) -> None:
        self.build = build
        np.random.seed(0)
        p = build()
        for call in p.calls:  # the first step creates the optimizer's states
            call()
        self.states = [state(p)]
        for _ in range(STEPS + 1):
            for call in p.calls:
                call()
                self.states.append(state(p))
        for call in p.calls:
            call()
        begun = time.perf_counter()
        for _ in range(3):
            for call in p.calls:
                call()
        self.seconds = (time.perf_counter() - begun) / 3

    def started(self) -> Any:
        np.random.seed(0)
        p = self.build()
        for call in p.calls:
            call()
        return p


class Interrupted:
    """Interrupts the programs of a frontend, one trial at a time."""

    def __init__(self, frontend: str, seed: int) -> None:
        self.random = random.Random(seed)
        names = [name for name in PROGRAMS if name.startswith(OF[frontend])]
        self.trajectories = {name: Trajectory(PROGRAMS[name]) for name in names}
        self.counts: collections.Counter[str] = collections.Counter()
        self.fired = 0
        self.lost: list[str] = []
        self.sender = subprocess.Popen([sys.executable, "-S", "-E", "-c", SENDER], stdin=subprocess.PIPE, bufsize=0)

    def __enter__(self) -> Interrupted:
        self.before = signal.signal(signal.SIGINT, self.handler), sys.unraisablehook
        sys.unraisablehook = self.unraisable
        return self

    def __exit__(self, *_: object) -> None:
        assert self.sender.stdin
        self.sender.stdin.close()
        self.sender.wait()
        signal.signal(signal.SIGINT, self.before[0])
        sys.unraisablehook = self.before[1]

    def handler(self, *_: object) -> None:
        self.fired += 1
        raise KeyboardInterrupt

    def unraisable(self, what: Any) -> None:
        # raised in a finalizer: Python prints the exception and drops it
        if issubclass(what.exc_type, KeyboardInterrupt):
            self.lost.append(repr(what.object))

    def trial(self) -> None:
        name = self.random.choice(list(self.trajectories))
        path = self.trajectories[name]
        p = path.started()
        calls, self.fired, self.lost = p.calls * STEPS, 0, []
        done = 0
        assert self.sender.stdin
        try:
            self.sender.stdin.write(struct.pack("d", self.random.random() * path.seconds * STEPS * 0.9))
            for call in calls:
                call()
                done += 1
            finished = True
            while not self.fired:
                time.sleep(0.001)
        except KeyboardInterrupt:
            finished = done == len(calls)
        except BaseException as e:
            raise Fault(f"{name}: {type(e).__name__} instead of KeyboardInterrupt: {e}") from e
        else:
            if self.lost:
                self.counts["dropped by Python in a finalizer"] += 1
                return
            raise Fault(f"{name}: the interrupt is lost")
        if finished:
            self.counts["after the last call"] += 1
            return
        self.check(name, path, p, done)
        self.counts["in a call"] += 1

    def check(self, name: str, path: Trajectory, p: Any, done: int) -> None:
        """Compare the program after `done` whole calls and an interrupted one with the states of `path`."""
        before, after, now = path.states[done], path.states[done + 1], state(p)
        for key, value in now.items():
            if not same(value, before.get(key)) and not same(value, after.get(key)):
                # an interrupt may come between counts of an update, or between copies of gradients
                if not (key in ("gx", "steps") or (p.copies and key.endswith("gradient"))):
                    was = f"neither {before.get(key)!r} nor {after.get(key)!r}"
                    raise Fault(f"{name}, call {done}: {key} is {value!r}, {was}")
        first = done - done % len(p.calls)
        for call in p.calls:
            call()
        then = state(p)
        for start in (first, first + len(p.calls)):
            if all(same(v, path.states[start].get(k)) for k, v in persistent(now).items()):
                expected = path.states[start + len(p.calls)]
                wrong = [k for k, v in then.items() if not same(v, expected.get(k))]
                if wrong and "add up" not in name:
                    raise Fault(f"{name}, call {done}, and the next step: {wrong} differ")
                self.counts["next step compared"] += 1
                return


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.core.interrupts", description=__doc__)
    parser.add_argument("frontend", choices=OF, help="whose programs are interrupted")
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="number of interrupts (10000)")
    parser.add_argument("--minutes", type=float, default=10, help="end after so many minutes at the latest (10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the times of the interrupts (0)")
    args = parser.parse_args()
    ends, faults = time.monotonic() + args.minutes * 60, collections.Counter[str]()
    with Interrupted(args.frontend, args.seed) as run:
        while run.counts["in a call"] < args.count and time.monotonic() < ends:
            try:
                run.trial()
            except Fault as e:
                faults[str(e)[:300]] += 1
                run.counts["faults"] += 1
                for mode in MODES:  # a mode left set would fail every later trial
                    _C.set_mode(mode, None)
    print(args.frontend, dict(run.counts))
    for text, count in faults.most_common(20):
        print(f"{count} x {text}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
