"""Finds the steps of a training program, and times them and their parts.

`compatgrad profile` uses this module in two ways: it is imported for a run on compatgrad, and the interpreter of an
original runs it for the other side of a comparison, from one file with the modules of this package::

    PYTHON steps.pyz --steps N --warmup N --output FILE.json -- train.py ARGUMENT ...

So it needs Python 3.6 or later and nothing but the standard library, and uses only names that Chainer, nnabla and MXNet
share with compatgrad.

A step ends where an update of parameters ends. If a program has several optimizers, it ends with the update by the one
that came last, so that a step contains updates by all of them. In a program that updates parameters by hand, a step
ends where a backward pass ends.
"""

import json
import os
import sys
import threading
import time
from typing import Any

from ._calls import ROOTS, UPDATES, Imports, Watches, run_program

# module, what is watched in it, kind of time. The kinds "update" and "backward" end steps.
ENDS = tuple((module, what, "update") for module, what in UPDATES) + (
    ("chainer.variable", "Variable.backward", "backward"),
    ("nnabla", "Variable.backward", "backward"),
    ("mxnet.ndarray", "NDArray.backward", "backward"),
    ("mxnet.autograd", "backward", "backward"),
    ("mxnet.executor", "Executor.backward", "backward"),
    # these are watched from the beginning, because programs hold what they return
    ("chainer.dataset.convert", "concat_examples", "data"),
    ("mxnet.gluon.data.dataloader", "DataLoader.__iter__", "iterator"),
)
# what `watch(imported)` is also told about
MORE = ("nnabla.functions",)
# watched only while the parts of steps are timed
PARTS = (
    ("chainer.link", "Link.__call__", "forward"),
    ("chainer.iterators.serial_iterator", "SerialIterator.__next__", "data"),
    ("chainer.iterators.multiprocess_iterator", "MultiprocessIterator.__next__", "data"),
    ("chainer.iterators.multithread_iterator", "MultithreadIterator.__next__", "data"),
    ("nnabla", "Variable.forward", "forward"),
    ("nnabla", "forward_all", "forward"),
    ("nnabla.utils.data_iterator", "DataIterator.next", "data"),
    ("mxnet.gluon.block", "Block.__call__", "forward"),
    ("mxnet.gluon.block", "HybridBlock.__call__", "forward"),
    ("mxnet.executor", "Executor.forward", "forward"),
    ("mxnet.io", "DataIter.__next__", "data"),
    ("mxnet.io", "NDArrayIter.next", "data"),
    ("mxnet.io", "PrefetchingIter.next", "data"),
    ("mxnet.io", "ResizeIter.next", "data"),
    ("mxnet.io", "MXDataIter.next", "data"),
    ("mxnet.image", "ImageIter.next", "data"),
)
# passes without an update before a program is taken for one that updates parameters by hand
BY_HAND = 4
MOST_OPTIMIZERS = 8


_clocks = {"wall": time.perf_counter, "cpu": time.process_time}  # type: Any
_chosen = ["wall"]


def clock() -> float:
    """The time in seconds: that of a clock on the wall, or the processor time of this process."""
    return float(_clocks[_chosen[0]]())


def chosen_clock() -> str:
    return _chosen[0]


def clock_function() -> Any:
    """What `clock` calls."""
    return _clocks[_chosen[0]]


def choose_clock(name: str) -> None:
    _chosen[0] = name


class Finished(SystemExit):
    """Ends the program after the last step. `except Exception` does not catch it."""


class Timed:
    """An iterator whose `next` is told to `call`."""

    def __init__(self, iterator: Any, call: Any, function: Any) -> None:
        self._iterator, self._call = iterator, call

        def following() -> Any:
            return next(iterator)

        following.__module__ = function.__module__
        following.__qualname__ = function.__qualname__.replace("__iter__", "__next__")
        self._next = following

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._call("data", self._next, (), {})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


class Steps:
    """Counts steps. `stages` are pairs of a name and a number of steps; the first stage is not timed.

    `enter(stage)` is called when a stage begins, with None when all are over; `begin` and `end` with the kind, the
    function and its arguments around each watched call that is not inside another one of its kind; `step(start, end)`
    after each step. All are called in the thread that trains.
    """

    def __init__(self, stages: Any, enter: Any = None, begin: Any = None, end: Any = None, step: Any = None) -> None:
        self.stages = [(name, count) for name, count in stages if count > 0]
        self.times = {name: [] for name, _ in self.stages}  # type: Any
        self.enter, self.begin, self.end, self.step = enter, begin, end, step
        self.optimizers = []  # type: Any
        self.anchor = None  # type: Any
        self.what = "backward"  # the call that ends steps
        self.passes = 0
        self.index = 0
        self.start = None  # type: Any
        self.thread = threading.get_ident()
        self.inside = {}  # type: Any
        self.over = False
        self.stop = False  # end the program with the last step
        self.watches = Watches(self.call)
        self.parts = Watches(self.call)
        self.finder = None  # type: Any

    @property
    def stage(self) -> Any:
        return None if self.over else self.stages[self.index][0]

    # ---- called by what is watched -----------------------------------------------------------------------------------

    def call(self, kind: str, function: Any, arguments: Any, named: Any) -> Any:
        if kind == "iterator":
            return Timed(iter(function(*arguments, **named)), self.call, function)
        if self.over or self.inside.get(kind):
            return function(*arguments, **named)
        if threading.get_ident() != self.thread:
            if self.anchor is not None or kind not in ("update", "backward"):
                return function(*arguments, **named)
            self.thread = threading.get_ident()
        self.inside[kind] = True
        try:
            if kind == "update":
                arguments, named = self._with_loss(function, arguments, named)
            if self.begin is not None:
                self.begin(kind, function, arguments)
            try:
                result = function(*arguments, **named)
            finally:
                if self.end is not None:
                    self.end(kind, function, arguments)
        finally:
            self.inside[kind] = False
        if kind in ("update", "backward"):
            self.ended(kind, function, arguments)
        return result

    def _with_loss(self, function: Any, arguments: Any, named: Any) -> Any:
        """The arguments of Chainer's `update(lossfun, ...)`, which computes the loss itself; `lossfun` is watched."""
        if not str(getattr(function, "__module__", "")).startswith(("chainer", "compatgrad.chainer")):
            return arguments, named

        def watched(loss: Any) -> Any:
            return lambda *a, **k: self.call("loss", loss, a, k)

        if len(arguments) > 1 and callable(arguments[1]):
            arguments = (arguments[0], watched(arguments[1])) + tuple(arguments[2:])
        elif callable(named.get("lossfun")):
            named = dict(named, lossfun=watched(named["lossfun"]))
        return arguments, named

    def ended(self, kind: str, function: Any, arguments: Any) -> None:
        if kind == "backward":
            if self.inside.get("update"):
                return
            self.passes += 1
            if self.optimizers or self.passes < BY_HAND:
                return
            owner = "backward"  # type: Any
        else:
            owner = arguments[0]
        if self.anchor is not owner:
            if owner != "backward" and not any(owner is o for o in self.optimizers):
                self.optimizers.append(owner)
                self.what = type(owner).__name__ + "." + function.__name__
                if len(self.optimizers) <= MOST_OPTIMIZERS:
                    self.begin_again(owner)
                    return
            if len(self.optimizers) > MOST_OPTIMIZERS:  # a new one for each step
                del self.optimizers[MOST_OPTIMIZERS + 1 :]
            elif owner == "backward":
                self.begin_again(owner)
                return
            else:
                return
        self.boundary()

    def begin_again(self, owner: Any) -> None:
        """The program has an optimizer that was not seen before: steps end with its updates from now on."""
        self.anchor = owner
        for times in self.times.values():
            del times[:]
        self.index = 0
        synchronize()
        if self.enter is not None:
            self.enter(self.stage)
        self.start = clock()

    def boundary(self) -> None:
        synchronize()
        now = clock()
        name, count = self.stages[self.index]
        self.times[name].append(now - self.start)
        if self.step is not None:
            self.step(self.start, now)
        if len(self.times[name]) == count:
            self.index += 1
            self.over = self.index == len(self.stages)
            if self.enter is not None:
                self.enter(self.stage)
            if self.over:
                self.close()
            if self.over and self.stop:
                raise Finished(0)
        self.start = clock()

    # ---- what is watched ---------------------------------------------------------------------------------------------

    def watch(self, imported: Any = None) -> None:
        """Watches the ends of steps: in modules that are loaded, and in those that will be. `imported` is called with
        the name of each module that the program imports and that is watched, or in `MORE`."""
        self.watches.watch(ENDS)

        def watch(name: str, module: Any) -> None:
            self.watches.watch(ENDS, name)
            if imported is not None:
                imported(name)

        self.finder = Imports([name for name, _, _ in ENDS] + list(MORE), watch)
        sys.meta_path.insert(0, self.finder)

    def watch_parts(self) -> None:
        self.parts.watch(PARTS)

    def close(self) -> None:
        self.over = True
        self.watches.remove()
        self.parts.remove()
        sys.meta_path[:] = [f for f in sys.meta_path if f is not self.finder]


def synchronize() -> None:
    """Waits for what devices, and the engine of the original MXNet, still compute."""
    mx = sys.modules.get("mxnet")
    if mx is not None:
        mx.nd.waitall()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    cupy = sys.modules.get("cupy")
    if cupy is not None and torch is None:
        cupy.cuda.Device().synchronize()


# ---- parts of steps --------------------------------------------------------------------------------------------------

PHASES = ("forward", "backward", "update", "data", "other")


class Phases:
    """Divides each step into forward, backward, update, data and the rest.

    Forward lasts from the first call of a layer to the beginning of backward, without data; where a program calls no
    layer, from the end of the last other part. What is inside an update belongs to its own part.
    """

    def __init__(self) -> None:
        self.steps = []  # type: Any
        self.clear(clock())

    def clear(self, now: float) -> None:
        self.open = []  # type: Any
        self.pieces = []  # type: Any
        self.last = now
        self.started = False  # forward has begun

    def _piece(self, now: float) -> None:
        kind = self.open[-1] if self.open else "forward" if self.started else "other"
        self.pieces.append((kind, now - self.last))
        self.last = now

    def begin(self, kind: str, now: float) -> None:
        self._piece(now)
        kind = "forward" if kind == "loss" else kind
        if kind == "forward":
            self.started = True
        elif kind in ("backward", "update"):
            self.started = False
        self.open.append(kind)

    def end(self, now: float) -> None:
        self._piece(now)
        if self.open:  # a part that was open at the end of a step, because a layer calls the update, was closed there
            self.open.pop()

    def step(self, now: float) -> None:
        self._piece(now)
        pieces = self.pieces
        kinds = [kind for kind, _ in pieces]
        if "backward" in kinds and "forward" not in kinds[: kinds.index("backward")]:
            at = kinds.index("backward") - 1
            if at >= 0 and kinds[at] == "other":
                pieces[at] = ("forward", pieces[at][1])
        total = dict.fromkeys(PHASES, 0.0)
        for kind, seconds in pieces:
            total[kind] += seconds
        self.steps.append(total)
        self.clear(clock())


def quantile(values: Any, q: float) -> float:
    """The quantile between sorted values, interpolated linearly."""
    values = sorted(values)
    at = (len(values) - 1) * q
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return float(values[low] + (values[high] - values[low]) * (at - low))


def quiet(values: Any) -> Any:
    """Indices of the values that are not above the median: other programs did not delay these steps much."""
    return [k for k, v in enumerate(values) if v <= quantile(values, 0.5)]


# ---- alone -----------------------------------------------------------------------------------------------------------


def facts() -> Any:
    """Versions of what ran."""
    found = {"python": sys.version.split()[0]}
    for name in ROOTS + ("chainerx", "numpy", "cupy", "torch", "compatgrad"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def main() -> None:
    import argparse

    arguments = sys.argv[1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    cut = arguments.index("--")
    options = parser.parse_args(arguments[:cut])
    choose_clock(options.clock)
    phases = Phases()

    def begin(kind: str, function: Any, given: Any) -> None:
        synchronize()
        phases.begin(kind, clock())

    def end(kind: str, function: Any, given: Any) -> None:
        synchronize()
        phases.end(clock())

    def enter(stage: Any) -> None:
        if stage == "parts":
            steps.watch_parts()
            steps.begin, steps.end, steps.step = begin, end, lambda start, now: phases.step(now)
            phases.clear(clock())
        elif stage == "warmup":  # the steps begin anew
            steps.begin = steps.end = steps.step = None
            steps.parts.remove()
            del phases.steps[:]

    steps = Steps([("warmup", options.warmup), ("timed", options.steps), ("parts", options.steps)], enter)
    steps.stop = True
    steps.watch()
    try:
        run_program(arguments[cut + 1 :])
    finally:
        # written even if the program fails: the steps that were measured count
        result = {
            "times": steps.times.get("timed", []),
            "phases": phases.steps,
            "seen": sum(len(t) for t in steps.times.values()),
            "ends_with": steps.what,
            "versions": facts(),
            "threads": os.environ.get("OMP_NUM_THREADS") or str(os.cpu_count()),
        }
        with open(options.output, "w") as file:
            json.dump(result, file)
