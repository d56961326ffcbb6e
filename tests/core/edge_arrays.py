"""Calls every public function with edge cases of arrays: `python -m tests.core.edge_arrays mxnet` (or `chainer`, ...).

`links` and `blocks` are the layers of Chainer and Gluon, which are made and called with the drawn arguments. The names
are read from the modules, so new functions are included. Each function is called with many patterns of arguments until
it accepts some, and with those of the example in its docstring. Then the arrays of these calls are replaced by 22 kinds
of arrays, and changed one at a time: other lengths, dtypes and numbers (labels, lengths and indices out of range).
Results are differentiated. A call may raise an error or return numbers. The command reports calls that end the process,
take longer than 20 seconds, raise errors that no caller can use (SystemError, torch's internal asserts, ...), or leave
reference cycles of exceptions. Calls run in a child process; after a crash, a new child continues with the next
function.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import functools
import gc
import importlib
import inspect
import io
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from tests.behaviour import examples, probe

SECONDS = 20
GIBIBYTES = 4
PATTERNS = 5
PLAIN = np.linspace(0.1, 1, 2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4)
ARRAYS: dict[str, np.ndarray] = {
    "scalar": np.array(0.5, np.float32),
    "nothing": np.zeros((0,), np.float32),
    "one number": np.ones((1,), np.float32),
    "vector": np.arange(5, dtype=np.float32),
    "matrix": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4),
    "0 by 0": np.zeros((0, 0), np.float32),
    "no samples": np.zeros((0, 3, 4, 4), np.float32),
    "no channels": np.zeros((2, 0, 4, 4), np.float32),
    "no height": np.zeros((2, 3, 0, 4), np.float32),
    "no width": np.zeros((2, 3, 4, 0), np.float32),
    "one pixel": np.ones((1, 1, 1, 1), np.float32),
    "seven axes": np.ones((1, 2, 1, 2, 1, 2, 1), np.float32),
    "not contiguous": np.linspace(0, 1, 24, dtype=np.float32).reshape(2, 3, 4)[::-1, :, ::2],
    "NaN": np.full((2, 3, 4, 4), np.nan, np.float32),
    "infinity": np.full((2, 3, 4, 4), np.inf, np.float32),
    "large numbers": np.full((2, 3, 4, 4), -1e30, np.float32),
    "float16": np.ones((2, 3, 4, 4), np.float16),
    "float64": np.ones((2, 3, 4, 4), np.float64),
    "negative integers": np.full((2, 3), -7, np.int32),
    "large integers": np.full((2, 3), 2**40, np.int64),
    "bytes": np.full((2, 3, 4), 255, np.uint8),
    "bools": np.ones((2, 3), bool),
}
NUMBERS: list[Any] = [2, 0, -1, (2, 2), (0, 0), 0.5]
# Functions that take no arrays, or whose effects a test must avoid.
LEFT_OUT = {
    "load": "reads files", "loadtxt": "reads files", "genfromtxt": "reads files", "fromfile": "reads files",
    "imread": "reads files", "save": "writes files", "savez": "writes files", "cvimread": "reads files",
    "set_printoptions": "changes how arrays are printed", "set_np": "changes a mode", "reset_np": "changes a mode",
    "set_np_shape": "changes a mode", "seed": "changes the random numbers", "waitall": "waits",
    "set_printoption": "changes how arrays are printed", "print": "prints",
}  # fmt: skip
MODULES = {
    "chainer": ["compatgrad.chainer.functions"],
    "nnabla": ["compatgrad.nnabla.functions", "compatgrad.nnabla.parametric_functions"],
    "mxnet": [
        "compatgrad.mxnet.ndarray", "compatgrad.mxnet.ndarray.contrib", "compatgrad.mxnet.ndarray.image",
        "compatgrad.mxnet.ndarray.linalg", "compatgrad.mxnet.ndarray.random", "compatgrad.mxnet.ndarray.sparse",
        "compatgrad.mxnet.numpy", "compatgrad.mxnet.numpy.linalg", "compatgrad.mxnet.numpy.random",
        "compatgrad.mxnet.numpy_extension",
    ],
    "ops": ["compatgrad.ops"],
    "links": ["compatgrad.chainer.links", "compatgrad.chainer.links.rnn"],
    "blocks": [
        "compatgrad.mxnet.gluon.nn", "compatgrad.mxnet.gluon.rnn", "compatgrad.mxnet.gluon.loss",
        "compatgrad.mxnet.gluon.contrib.nn", "compatgrad.mxnet.gluon.contrib.rnn", "compatgrad.mxnet.gluon.contrib.cnn",
    ],
}  # fmt: skip
LAYERS = {"links": "chainer", "blocks": "mxnet"}  # the frontends of layers
# Layers whose constructors load a file.
LEFT_OUT_LAYERS = {"GoogLeNet", "ResNet101Layers", "ResNet152Layers", "ResNet50Layers", "VGG16Layers", "VGG19Layers"}


class Layer:
    """A function that makes and calls a layer as the example in its docstring does, but with other arguments.

    `pattern` has the example's positional arguments: those of the constructor, then those of the first call.
    """

    def __init__(self, made: type, frontend: str) -> None:
        self.made, self.frontend, self.pattern, self.first = made, frontend, list[Any](), 0
        self.source = "".join(examples.example(frontend, made)["source"])
        self()

    def __call__(self, *replaced: Any) -> Any:
        init, call, seen, results = self.made.__init__, self.made.__call__, list[Any](), list[Any]()

        def make(layer: Any, *args: Any, **keywords: Any) -> None:
            if not seen:
                seen.append(layer)
                if replaced:
                    args = replaced[: self.first]
                else:
                    self.pattern, self.first = [plain(a) for a in args], len(args)
            init(layer, *args, **keywords)

        def apply(layer: Any, *args: Any, **keywords: Any) -> Any:
            if results or layer is not seen[0]:
                return call(layer, *args, **keywords)
            if replaced:
                args = replaced[self.first :]
            else:
                self.pattern += [plain(a) for a in args]
            results.append(call(layer, *args, **keywords))
            return results[0]

        with mock.patch.object(self.made, "__init__", make), mock.patch.object(self.made, "__call__", apply):
            names = dict(probe.PROBES[self.frontend](self.frontend, "compatgrad.").names())
            with contextlib.redirect_stdout(io.StringIO()):
                exec(self.source, names)
        return results[0] if results else None


class Example:
    """A function called as the example in its docstring calls it first, but with other arguments.

    `pattern` has the example's arguments: the positional ones, then those with `names`.
    """

    def __init__(self, function: Callable[..., Any], frontend: str) -> None:
        self.function, self.pattern, self.names = function, list[Any](), tuple[str, ...]()
        found = examples.example(frontend, function)
        if not found["spelled"]:
            return
        *owner, last = found["spelled"][0].split(".")
        names = dict(probe.PROBES[frontend](frontend, "compatgrad.").names())

        def record(*args: Any, **keywords: Any) -> Any:
            if not self.pattern:
                self.names = tuple(keywords)
                self.pattern = [numbers(plain(a)) for a in (*args, *keywords.values())]
            return function(*args, **keywords)

        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), elsewhere():
            place = functools.reduce(getattr, owner[1:], names[owner[0]])
            with mock.patch.object(place, last, record):
                for source in found["source"]:
                    if not self.pattern:
                        exec(source, names)

    def __call__(self, *args: Any) -> Any:
        n = len(args) - len(self.names)
        return self.function(*args[:n], **dict(zip(self.names, args[n:], strict=True)))


@contextlib.contextmanager
def elsewhere() -> Iterator[None]:
    """A temporary working directory, because some examples write files."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def numbers(x: Any) -> Any:
    """Nested lists of numbers as an array, so that they are replaced, too."""
    if isinstance(x, list) and x and not any(isinstance(v, np.ndarray) for v in x):
        with contextlib.suppress(Exception):
            a = np.array(x)
            return a if a.dtype.kind in "biuf" else x
    return x


def plain(x: Any) -> Any:
    """Arrays of a frontend as NumPy's."""
    if isinstance(x, (list, tuple)):
        return type(x)(plain(v) for v in x)
    if hasattr(x, "asnumpy") and not hasattr(x, "list_arguments"):  # symbols refuse it
        return x.asnumpy()
    for name in ("array", "d", "data"):  # Chainer's Variables; nnabla's Variables and NdArrays
        if isinstance(getattr(x, name, None), np.ndarray):
            return getattr(x, name)
    return x


def layers(name: str) -> list[tuple[str, Callable[..., Any]]]:
    """The layers with their names `module.name`, each once; those whose example makes and calls none are left out."""
    found: dict[type, str] = {}
    for path in MODULES[name]:
        module = importlib.import_module(path)
        base = importlib.import_module(f"compatgrad.{LAYERS[name]}")
        base = base.Link if name == "links" else base.gluon.Block
        for word in sorted(dir(module)):
            made = getattr(module, word)
            if inspect.isclass(made) and issubclass(made, base) and word not in LEFT_OUT_LAYERS:
                found.setdefault(made, f"{path.removeprefix('compatgrad.')}.{word}")
    made = [(word, Layer(cls, LAYERS[name])) for cls, word in found.items()]
    return [(word, f) for word, f in made if f.pattern]


def functions(frontend: str) -> list[tuple[str, Callable[..., Any]]]:
    """The public functions with their names `module.name`, each once."""
    if frontend in LAYERS:
        return layers(frontend)
    found: dict[int, tuple[str, Callable[..., Any]]] = {}
    for path in MODULES[frontend]:
        module = importlib.import_module(path)
        for name in sorted(dir(module)):
            f = getattr(module, name)
            if name.startswith("_") or name in LEFT_OUT or not callable(f) or inspect.isclass(f):
                continue
            found.setdefault(id(f), (f"{path.removeprefix('compatgrad.')}.{name}", f))
    if frontend == "ops":  # without examples
        return list(found.values())
    called = [(f"{name} as in its example", Example(f, frontend)) for name, f in found.values()]
    return [*found.values(), *((name, f) for name, f in called if f.pattern)]


class Frontend:
    """Makes a frontend's arrays, and differentiates its results."""

    def __init__(self, name: str) -> None:
        self.name = name = LAYERS.get(name, name)
        self.modules = [importlib.import_module(MODULES[name][0].rpartition(".")[0] if name != "ops" else "compatgrad")]

    def array(self, a: np.ndarray, f: str) -> Any:
        (module,) = self.modules
        if self.name == "chainer":
            return module.Variable(a.copy())
        if self.name == "mxnet":
            made = (module.np if ".numpy" in f else module.nd).array(a, dtype=a.dtype)
            if a.dtype.kind == "f":
                made.attach_grad()
            return made
        if self.name == "nnabla":
            v = module.Variable(a.shape, need_grad=a.dtype.kind == "f")
            v.data.cast(a.dtype)[...] = a
            return v
        import torch

        import compatgrad

        return compatgrad.Variable(torch.from_numpy(a.copy()), requires_grad=a.dtype.kind == "f")

    def run(self, f: Callable[..., Any], args: list[Any]) -> None:
        (module,) = self.modules
        if self.name == "mxnet":
            with module.autograd.record():
                y = f(*args)
            for o in y if isinstance(y, (list, tuple)) else [y]:
                if isinstance(o, module.nd.NDArray):
                    o.asnumpy()
                    with contextlib.suppress(Exception):
                        o.backward()
            module.nd.waitall()
            return
        y = f(*args)
        for o in y if isinstance(y, (list, tuple)) else [y]:
            if self.name == "nnabla" and isinstance(o, module.Variable):
                o.forward()
                o.backward()
            elif self.name == "chainer" and isinstance(o, module.Variable):
                o.grad = np.ones_like(o.array)
                o.backward()
            elif self.name == "ops" and hasattr(o, "backward"):
                (o * o).sum().backward()

    def clean(self) -> None:
        if self.name == "nnabla":
            self.modules[0].clear_parameters()


def required(f: Callable[..., Any]) -> int:
    """The number of required arguments, 2 if `f` has no signature."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return 2
    n = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    return n or (2 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else 1)


SQUARE = np.array([[2, 0.5, 0], [0.5, 2, 0.5], [0, 0.5, 2]], np.float32)
# Values that patterns of arguments are drawn from.
CANDIDATES: list[Any] = [
    PLAIN, PLAIN, PLAIN, SQUARE, PLAIN[0, 0, :3], PLAIN[0, 0, 0], PLAIN[0], PLAIN[:, :, 0], np.array([0, 2], np.int32),
    np.array([1, 0, 2], np.int32), np.array([[0, 1, 2], [2, 1, 0]], np.int32), np.ones((2, 3, 4, 4), bool),
    [PLAIN, PLAIN], [PLAIN[0], PLAIN[0]], 1, 2, 3, 0.5, (2, 2), (1,), (2, 3, 4, 4), None,
]  # fmt: skip


def patterns(n: int, chosen: random.Random) -> Iterator[list[Any]]:
    """Endless lists of arguments to try for a function with `n` required ones."""
    for a in (PLAIN, SQUARE, PLAIN[0, 0, 0], CANDIDATES[8], 2, (2, 3)):
        yield [a] * n
    while True:
        begin = [PLAIN] if chosen.random() < 0.5 else []
        more = chosen.choice([0, 0, 0, 1, 2])
        yield begin + [chosen.choice(CANDIDATES) for _ in range(n + more - len(begin))]


def changes(a: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays like `a` but for a length, the dtype, or numbers."""
    for axis in range(a.ndim if a.size else 0):
        yield f"one less along {axis}", a.take(range(a.shape[axis] - 1), axis)
        yield f"one more along {axis}", np.concatenate([a, a.take([0], axis)], axis)
        yield f"none along {axis}", a.take([], axis)
    yield "one axis more", a[None]
    if a.ndim:
        yield "one axis less", a.reshape(-1) if a.ndim == 1 or not a.shape[0] else a[0]
    for dtype in ("bool", "int32", "int64", "float16", "float32", "float64"):
        if a.dtype != dtype:
            with np.errstate(all="ignore"):
                other = a.astype(dtype)
            yield dtype, other
    yield "largest bytes", np.full(a.shape, 255, np.uint8)
    for number in (np.nan, -1e30, 1e9) if a.dtype.kind == "f" else (-1, 9, 2**31 - 1, -(2**31)):
        far = a.astype("int64") if a.dtype.kind != "f" else a.copy()
        with np.errstate(all="ignore"):
            far[...] = number
        yield f"full of {number}", far
        if a.size > 1:
            last = a.astype(far.dtype)
            last.flat[-1] = far.flat[-1]
            yield f"with {number} at the end", last


def calls(n: int, working: list[list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield a description and arguments (arrays are NumPy's): every kind of array, alone and in `working` arguments."""
    for kind, a in ARRAYS.items():
        yield kind, [a] * n
        for w, args in enumerate(working):
            arrays = [i for i, x in enumerate(args) if isinstance(x, (np.ndarray, list))]
            for places in ([i] for i in arrays) if len(arrays) < 2 else [*([i] for i in arrays), arrays]:
                made = [([a] * len(x) if isinstance(x, list) else a) if i in places else x for i, x in enumerate(args)]
                yield f"{kind} for {places} of pattern {w}", made
    for w, args in enumerate(working):
        for i, x in enumerate(args):
            parts = x if isinstance(x, list) else [x]
            for k, a in enumerate(parts):
                for kind, other in changes(a) if isinstance(a, np.ndarray) else ():
                    made = [*parts[:k], other, *parts[k + 1 :]] if isinstance(x, list) else other
                    yield f"{kind} for {i}, {k} of pattern {w}", [*args[:i], made, *args[i + 1 :]]
            if not isinstance(x, (np.ndarray, list)):
                for number in NUMBERS:
                    yield f"{number} for {i} of pattern {w}", [*args[:i], number, *args[i + 1 :]]


UNUSABLE = (SystemError, NameError, RecursionError)
FAULTS = ("unusable:", "cycle:", "took too long:", "ended the process", "the child ended")


def unusable(e: BaseException, frontend: str = "") -> bool:
    # Chainer raises Python's ZeroDivisionError itself for a stride of 0, nnabla ends the process, MXNet names the
    # argument.
    divided = isinstance(e, ZeroDivisionError) and str(e).endswith("by zero") and frontend != "chainer"
    return isinstance(e, UNUSABLE) or divided or "INTERNAL ASSERT" in str(e) or "please report a bug" in str(e)


def collected() -> list[str]:
    """Exceptions in reference cycles, which only the garbage collector frees."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    found = [f"{type(o).__name__}: {o}"[:150] for o in gc.garbage if isinstance(o, BaseException)]
    gc.garbage.clear()
    gc.collect()
    gc.freeze()  # the next collection skips the objects of modules imported so far
    return found


class Tried:
    """Calls one function with many arguments, and reports faults by `tell`."""

    def __init__(self, frontend: Frontend, name: str, f: Callable[..., Any], tell: Callable[[str], None]) -> None:
        self.frontend, self.name, self.f, self.tell = frontend, name, f, tell

    def call(self, words: str, args: list[Any]) -> float | None:
        """Return the seconds that the call took, None if it raised an error."""
        self.tell(f"{self.name}({words}): {shown(args)}")
        signal.alarm(SECONDS)
        begun = time.perf_counter()
        try:
            made = [[self.array(x) for x in a] if isinstance(a, list) else self.array(a) for a in args]
            with np.errstate(all="ignore"):
                self.frontend.run(self.f, made)
        except Exception as e:
            if unusable(e, self.frontend.name):
                told = f"{type(e).__name__}: {str(e)[:200]}".replace("\n", " ")
                print(f"unusable: {self.name}({words}): {shown(args)}: {told}", flush=True)
            return None
        finally:
            signal.alarm(0)
            self.frontend.clean()
        return time.perf_counter() - begun

    def array(self, x: Any) -> Any:
        return self.frontend.array(x, self.name) if isinstance(x, np.ndarray) else x

    def all(self, share: float, tries: int) -> None:
        """Search for arguments that the function accepts, then replace their arrays by those of every kind."""
        chosen, n, working = random.Random(self.name), required(self.f), list[list[Any]]()
        collected()
        if isinstance(self.f, (Layer, Example)):
            working, tries, n = [self.f.pattern], 0, len(self.f.pattern)
        for _, args in zip(range(tries), patterns(n, chosen), strict=False):
            seconds = self.call("a pattern", args)
            if seconds is not None and seconds < 0.2 and len(working) < PATTERNS:
                working.append(args)
                if len(working) == PATTERNS:
                    break
        for words, args in calls(n, working):
            if chosen.random() < share:
                self.call(words, args)
        for text in dict.fromkeys(collected()):
            print(f"cycle: {self.name}: {text}", flush=True)
        if not working:
            print(f"note: {self.name}: no arguments found", flush=True)


def shown(args: list[Any]) -> str:
    return ", ".join(
        f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else f"[{shown(a)}]" if isinstance(a, list) else str(a)
        for a in args
    )


def child(
    frontend: Frontend, todo: list[tuple[str, Any]], begin: int, share: float, tries: int, place: mmap.mmap
) -> None:
    warnings.simplefilter("ignore")
    faulthandler.disable()
    sys.stdin = io.StringIO()
    limit = int(open("/proc/self/statm").read().split()[0]) * 4096 + GIBIBYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()
    gc.freeze()
    for i in range(begin, len(todo)):

        def tell(text: str, i: int = i) -> None:
            data = text.encode()[:4000]
            place[: 16 + len(data)] = struct.pack("qq", i, len(data)) + data
            count = struct.unpack("q", place[4090:4098])[0]
            place[4090:4098] = struct.pack("q", count + 1)

        Tried(frontend, *todo[i], tell).all(share, tries)
    place[:16] = struct.pack("qq", len(todo), 0)


def run(name: str, share: float = 1.0, tries: int = 200, only: str = "") -> tuple[int, int, list[str]]:
    """Make a share of a frontend's calls. Return the number of functions, that of calls, and the faults found."""
    frontend, todo = Frontend(name), [f for f in functions(name) if only in f[0]]
    place, found, begin = mmap.mmap(-1, 8192), [], 0
    while begin < len(todo):
        reader, writer = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            os.dup2(writer, 1)
            sys.stdout = open(1, "w", closefd=False)  # pytest replaces sys.stdout
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 2)
            os.dup2(null, 0)
            code = 1
            try:
                child(frontend, todo, begin, share, tries, place)
                code = 0
            except BaseException as e:
                print(f"the child ended: {type(e).__name__}: {e}", flush=True)
            finally:
                os._exit(code)
        os.close(writer)
        with open(reader) as told:
            found += [line for line in told.read().splitlines() if line.startswith((*FAULTS, "note:"))]
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        begin, length = struct.unpack("qq", place[:16])
        if status:
            how = "took too long" if status == -signal.SIGALRM else f"ended the process ({status})"
            found.append(f"{how}: {place[16 : 16 + length].decode(errors='replace')}")
            begin += 1
    return len(todo), struct.unpack("q", place[4090:4098])[0], found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.core.edge_arrays", description=__doc__)
    parser.add_argument("frontend", choices=MODULES, help="whose functions or layers are called")
    parser.add_argument("--share", type=float, default=1, help="the share of the calls that run, from 0 to 1 (1)")
    parser.add_argument("--tries", type=int, default=200, help="patterns of arguments to try for each function (200)")
    parser.add_argument("--only", default="", help="only functions whose names contain this text")
    args = parser.parse_args()
    count, made, told = run(args.frontend, args.share, args.tries, args.only)
    found = [line for line in told if line.startswith(FAULTS)]
    print(f"{args.frontend}: {count} functions, {made} calls, {len(found)} faults")
    for kind, n in collections.Counter(line.partition(":")[0] for line in told).items():
        print(f"{n} x {kind}")
    print("\n".join(told))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
