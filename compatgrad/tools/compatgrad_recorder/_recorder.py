"""The recorder: writes events, and knows the step, the place in the model and the program's line."""

import fnmatch
import functools
import json
import os
import platform
import random
import sys
import threading
import zlib
from array import array
from typing import Any

import numpy as np

from ._calls import INNER_UPDATES, Watches
from ._statistics import Statistics

SCHEMA = 2
MEDIUM = 4096  # arrays of up to so many elements are stored whole: that costs less than their statistics
SMALL = 64  # this is the limit instead of MEDIUM once ENOUGH bytes have been stored
ENOUGH = 1 << 26


class Recorder:
    """Writes events, and knows the step, the place in the model and the line of the program."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.folder = options.output
        os.makedirs(self.folder, exist_ok=True)
        for name in ("meta.json", "events.jsonl", "arrays.bin"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))
        self.events_file: Any = open(os.path.join(self.folder, "events.jsonl"), "w")
        self.arrays_file: Any = open(os.path.join(self.folder, "arrays.bin"), "wb")
        self.keep = numbers(options.keep)
        self.statistics = Statistics()
        self.names: Any = {}  # dtype -> its name, which NumPy would put together anew at each access
        self.encoder = json.JSONEncoder(separators=(",", ":"), check_circular=False)
        self.waiting: Any = []
        self.blob = bytearray()
        self.place = 0
        self.count = 0
        self.step = 1
        self.on = True
        self.inside = 0  # depth of calls whose parts are not recorded
        self.path: Any = []
        self.frameworks: Any = {}
        self.notes: Any = []
        self.seen: Any = set()  # names of parameters whose initial values were recorded
        self.updates = 0
        self.ended = "finished"
        self.settle: Any = []  # functions to call before a step ends
        self.own: Any = {}  # id of code, whose hash takes long -> the program's file or "", and the code
        self.foreign: Any = [os.path.dirname(os.path.abspath(m)) for m in (__file__, os.__file__, np.__file__)]
        self.here = os.getcwd() + os.sep
        self.pid = os.getpid()
        self.thread = threading.get_ident()
        self.functions = 0

    # ---- arrays ----
    def array(self, a: Any, whole: bool = False, parameter: bool = False) -> Any:
        """The description of an array: statistics, or its place in the file."""
        if a is None:
            return None
        if not isinstance(a, np.ndarray):
            a = a.get() if hasattr(a, "get") and hasattr(a, "device") else np.asarray(a)
        kind, shape = a.dtype, list(a.shape)
        if kind.kind not in "biufc":
            return [str(kind), shape, None, -1]
        dtype = self.names.get(kind)
        if dtype is None:
            dtype = self.names[kind] = kind.name
        if not whole and a.size > (MEDIUM if self.place < ENOUGH else SMALL):
            return [dtype, shape, self.statistics.of(a, parameter), -1]
        data = a.tobytes()
        place = self.place
        self.blob += data
        self.place += len(data)
        if len(self.blob) > 1 << 22:
            self.flush()
        return [dtype, shape, None, place]

    def whole(self) -> bool:
        """Whether the arrays of the next event are stored whole."""
        return self.options.record == "all" or self.count in self.keep

    def wanted(self) -> bool:
        """Whether functions of this step and place are recorded."""
        if not self.on or (self.step - 1) % self.options.every:
            return False
        return self.options.layers is None or fnmatch.fnmatch("/" + "/".join(self.path), self.options.layers)

    def event(self, kind: str, name: str, ins: Any = (), outs: Any = (), **more: Any) -> int:
        """Writes an event; `ins` and `outs` are arrays, or integers, the numbers of the events that made an array."""
        if not self.on or os.getpid() != self.pid:  # a forked worker has the same files
            return -1
        whole = self.whole()
        found = {"k": kind, "s": self.step, "n": name}
        found.update(more)
        if len(ins):
            found["i"] = [self.array(a, whole) for a in ins]
        if len(outs):
            first = kind == "update"
            found["o"] = [self.array(a, whole, first and not i) for i, a in enumerate(outs)]
        self.functions += kind == "forward"
        self.waiting.append(found)
        self.count += 1
        return self.count - 1

    def flush(self) -> None:
        if os.getpid() != self.pid:
            return
        self.arrays_file.write(self.blob)
        self.blob = bytearray()
        self.arrays_file.flush()
        if self.waiting:  # one list is encoded in half the time of its elements
            self.events_file.write(self.encoder.encode(self.waiting) + "\n")
        self.waiting = []
        self.events_file.flush()

    # ---- places ----
    def where(self) -> str:
        return "/" + "/".join(self.path)

    def line(self, depth: int = 2) -> str:
        """The program's line that is running: FILE:LINE."""
        frame: Any = sys._getframe(depth)
        while frame is not None:
            code = frame.f_code
            known = self.own.get(id(code))
            if known is None:
                name = self.file_of(code.co_filename, frame.f_globals.get("__name__"))
                known = self.own[id(code)] = name, code
            if known[0]:
                return "%s:%d" % (known[0], frame.f_lineno)
            frame = frame.f_back
        return ""

    def framework(self, module: Any) -> None:
        """Lines of a framework's own files are not lines of the program."""
        folder = os.path.dirname(os.path.abspath(module.__file__))
        above = os.path.dirname(folder)
        self.foreign.append(above if os.path.basename(above) == "compatgrad" else folder)

    def file_of(self, name: str, module: Any) -> str:
        """The name to show for a file of the program; "" for other files."""
        if name.startswith("<"):  # frameworks make functions from text, too
            return name if module == "__main__" else ""
        full = os.path.abspath(name)
        if any(full.startswith(folder + os.sep) for folder in self.foreign):
            return ""
        return full[len(self.here) :] if full.startswith(self.here) else full

    def hidden(self, f: Any) -> Any:
        """f, called without recording the functions in it."""

        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            self.inside += 1
            try:
                return f(*args, **named)
            finally:
                self.inside -= 1

        return call

    # ---- steps ----
    def parameters(self, named: Any) -> None:
        """Before an update: `named` are (name, a function that returns the value, gradient)."""
        for settle in self.settle:
            settle()
        named = list(named)
        for name, read, _ in named:
            if name not in self.seen:
                self.seen.add(name)
                value = read()
                if value is not None:
                    self.event("initial", name, (), (value,))
        if not (self.step - 1) % self.options.every:
            for name, _, gradient in named:
                if gradient is not None:
                    self.event("gradient", name, (), (gradient,))

    def updated(self, named: Any) -> None:
        """After an update: `named` are (name, value, states by name)."""
        self.statistics.known.clear()
        if not (self.step - 1) % self.options.every:
            for name, value, states in named:
                if value is not None:
                    self.event("update", name, (), [value] + [v for _, v in states], x=[k for k, _ in states])
        self.end_step()

    def watch_updates(self, package: Any, readers: Any, hidden: bool = True) -> None:
        """Records each update. `readers` maps the name of a call, or "" for all others, to two functions: one that
        returns what `parameters` needs (or None), and one that returns what `updated` needs. hidden: the functions that
        run inside updates are not recorded."""

        def call(kind: str, function: Any, arguments: Any, named: Any) -> Any:
            if self.inside:
                return function(*arguments, **named)
            before, after = readers.get(kind) or readers[""]
            given = list(arguments[1:]) + list(named.values())
            if before is not None:
                self.parameters(before(arguments[0], given))
            self.inside += hidden
            try:
                result = function(*arguments, **named)
            finally:
                self.inside -= hidden
            self.updated(after(arguments[0], given))
            return result

        watches = Watches(call)
        for what in INNER_UPDATES[package.__name__.rpartition(".")[2]]:
            first, _, rest = what.partition(".")
            watches.replace(getattr(package, first), rest, what)

    def end_step(self) -> None:
        key: Any = np.random.get_state()
        draws: Any = [zlib.crc32(key[1].tobytes()) ^ key[2], zlib.crc32(array("I", random.getstate()[1]).tobytes())]
        self.event("step", "", d=draws, l=self.line(3))
        self.flush()
        self.step += 1
        self.updates += 1
        self.inside = 0
        if self.on and os.getpid() == self.pid:
            if self.thread != threading.get_ident() and not self.functions:
                self.note("the program trains in a thread that it starts, in which the functions were not seen")
            if self.updates == 1:
                self.write_meta("killed")  # stays so if the program ends without calling `close`
        if self.options.steps and self.updates >= self.options.steps:
            self.ended = "stopped"
            self.close()
            raise SystemExit(0)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def close(self) -> None:
        if not self.on or os.getpid() != self.pid:
            return
        for settle in self.settle:
            settle()
        self.flush()
        self.on = False
        self.events_file.close()
        self.arrays_file.close()
        self.write_meta(self.ended)

    def write_meta(self, ended: str) -> None:
        meta = {
            "schema": SCHEMA,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "executable": sys.executable,
            "frameworks": self.frameworks,
            "program": self.options.program,
            "folder": os.getcwd(),
            "events": self.count,
            "steps": self.updates,
            "ended": ended,
            "notes": self.notes,
            "options": {k: getattr(self.options, k) for k in ("seed", "every", "layers", "record", "sync", "steps")},
        }
        with open(os.path.join(self.folder, "meta.json"), "w") as file:
            json.dump(meta, file, indent=1, sort_keys=True)


def numbers(text: Any) -> Any:
    """The set that "3,17-40" describes."""
    found: Any = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def plain(value: Any) -> Any:
    """A value of an argument in JSON, or None if it has no short form."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)) and len(value) < 20:
        return [plain(v) for v in value]
    if isinstance(value, type) or isinstance(value, np.dtype):
        return np.dtype(value).name
    return None
