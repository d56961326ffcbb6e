"""Counts the functions that a program runs on compatgrad, and collects slow paths, copies and differences."""

from __future__ import annotations

import datetime
import os
import platform
import socket
import sys
import time
from collections.abc import Iterable
from importlib import metadata
from types import FrameType
from typing import Any

import torch

import compatgrad
from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.adapters import FRONTENDS
from compatgrad.core.lines import OWN, program_line, shown
from compatgrad.names import absent

SCHEMA = 1


# functions through which a program's question reaches the code that knows the answer: of modules, and of importlib
_PASSED = frozenset(("__getattr__", "_find_spec", "_find_and_load_unlocked", "_find_and_load", "_handle_fromlist",
                     "_call_with_frames_removed", "_gcd_import"))  # fmt: skip
_NOT_COMPUTED = frozenset(("new_generator",))  # ops that only make a state, not a result


class StrictError(Exception):
    """The error for an event that `--strict` forbids. It is no RuntimeError, because frontends turn a RuntimeError into
    errors of their own."""


class _Row:
    """What is known of one kind of event: how often it happened, and where the program was at the first time."""

    __slots__ = ("bytes", "calls", "first")

    def __init__(self, first: str) -> None:
        self.calls, self.bytes, self.first = 0, 0, first


def rank() -> str | None:
    """The number of this process among those of a launcher (torchrun, mpirun, srun), or None."""
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        if os.environ.get(name):
            return os.environ[name]
    return None


def _is_own(kind: type) -> bool:
    """Whether a class is one of compatgrad's, and not the program's."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return file.startswith(OWN)


def _reason_of(kind: type) -> str:
    """Why a function of this class runs in Python."""
    if not _is_own(kind):
        return "python"
    return "composed" if hasattr(kind, "compose") else "arrays"


class Collector:
    """Counts from `start` to `stop`. `strict`: kinds of events that raise StrictError."""

    def __init__(self, strict: Iterable[str] = ()) -> None:
        self.strict = frozenset(strict)
        self.labels: dict[tuple[str, str], str] = {}  # (op, frontend) -> the frontend's name of the op
        self.lines: dict[tuple[str, str], str] = {}  # (op, frontend) -> where the program first called it
        self.events: dict[tuple[str, ...], _Row] = {}  # (reason, name, frontend or line) -> row
        self.absent: dict[str, _Row] = {}
        self._reasons: dict[type, str] = {}  # of classes of functions in Python
        self.begun = datetime.datetime.now(datetime.timezone.utc)
        self._clock = time.monotonic()
        self._counts: list[tuple[str, str, str, Any, int]] | None = None  # after the end

    @property
    def counts(self) -> bool:
        """Whether it counts at the moment."""
        return notes.listener == self.note

    def start(self) -> None:
        """Begins to count. Raises RuntimeError if somebody else counts."""
        if notes.listener is not None:
            raise RuntimeError("a report of this process is already being made")
        notes.listener = self.note
        absent.listener = self.hear_of_absent
        _C.set_tally(self._hear)

    def stop(self) -> None:
        """Ends the count; `data` stays as it is."""
        if self.counts:
            self._counts = _C.tallies()
            notes.listener = absent.listener = None
            _C.set_tally(None)

    def clear(self) -> None:
        """Forgets what was counted, and counts on."""
        self.lines.clear()
        self.events.clear()
        self.absent.clear()
        self.labels.clear()
        _C.set_tally(self._hear)

    # ---- called by the engine and the frontends ----------------------------------------------------------------------

    def _hear(self, what: str, *words: Any) -> None:
        if what == "move":
            source, target, nbytes = words
            self.note("move", f"{source} to {target}", source=source, target=target, nbytes=nbytes)
        elif what == "copy":
            array = words[0]
            shape = "x".join(map(str, array.shape)) or "1"
            self.note("copy", f"array {array.dtype.name} {shape}", line=program_line(), nbytes=array.nbytes)
        else:
            op, frontend, function = words
            key = (op, frontend)
            self.lines.setdefault(key, program_line())
            if function is not None and key not in self.labels:
                adapter = FRONTENDS[frontend.partition(".")[0]]
                self.labels[key] = adapter.label(function)
                if _C.get_mode("debug"):
                    self.note("debug", "debug mode")

    def note(
        self, reason: str, subject: Any, calls: int = 1, line: str = "", nbytes: int = 0, source: str = "",
        target: str = "",
    ) -> None:  # fmt: skip
        """Counts an event; the listener of `compatgrad.core.notes`."""
        if not isinstance(subject, str):
            kind = type(getattr(subject, "_op", subject))  # `_op`: MXNet's older operators, inside of an adapter
            if reason == "python":
                reason = self._reasons.get(kind) or self._reasons.setdefault(kind, _reason_of(kind))
            subject = kind.__name__
        key = (reason, subject, line)
        row = self.events.get(key)
        if row is None:
            row = self.events[key] = _Row(line or program_line())
        row.calls += calls
        row.bytes += nbytes
        if self.strict and notes.REASONS[reason].kind in self.strict and notes.REASONS[reason].avoidable:
            self._refuse(reason, subject)

    def hear_of_absent(self, name: str) -> None:
        """Counts a name that the program asked for and that is absent; names that compatgrad asks for do not count."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and (frame.f_code.co_filename == absent.__file__ or frame.f_code.co_name in _PASSED):
            if frame.f_code.co_name == "_handle_fromlist":  # imports a module of this name, or else Python asks again
                return
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename.startswith(OWN):
            return
        name = name.removeprefix("compatgrad.")
        row = self.absent.get(name)
        if row is None:
            row = self.absent[name] = _Row(program_line())
        row.calls += 1

    def _refuse(self, reason: str, subject: str) -> None:
        found = notes.REASONS[reason]
        where = program_line() or "unknown line"
        if reason == "difference":
            difference = notes.DIFFERENCES[subject]
            why, remedy = difference.words, f"see docs/deviations.md#{difference.section}: {difference.row}"
        else:
            why, remedy = found.why, f"what would help: {found.remedy}"
        raise StrictError(f"--strict={found.kind}: {where}: {subject}: {why}; {remedy}")

    # ---- the result --------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """Everything that is known, for JSON."""
        counts = _C.tallies() if self._counts is None else self._counts
        events = self.events.items()
        return {
            "schema": SCHEMA,
            "kind": "compatgrad report",
            "versions": {
                "compatgrad": compatgrad.__version__,
                "python": platform.python_version(),
                "torch": torch.__version__,
                "numpy": metadata.version("numpy"),
            },
            "command": list(sys.orig_argv),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "rank": rank(),
            "started": self.begun.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self._clock, 3),
            "processes": 1,
            "operators": self._operators(counts),
            "slow": [
                {
                    "name": subject, "reason": reason, "calls": row.calls, "bytes": row.bytes, "first": row.first,
                    "where": notes.REASONS[reason].where, "why": notes.REASONS[reason].why,
                    "help": notes.REASONS[reason].remedy,
                }
                for (reason, subject, *_), row in events
                if notes.REASONS[reason].kind == "slow" and row.calls
            ],
            "transfers": [
                {"name": subject, "calls": row.calls, "bytes": row.bytes, "first": row.first}
                for (reason, subject, *_), row in events
                if reason == "move"
            ],
            "deviations": [
                {
                    "name": subject, "calls": row.calls, "first": row.first,
                    "words": notes.DIFFERENCES[subject].words, "row": notes.DIFFERENCES[subject].row,
                    "anchor": f"docs/deviations.md#{notes.DIFFERENCES[subject].section}",
                }
                for (reason, subject, *_), row in events
                if reason == "difference"
            ],
            "shims": shims(),
            "absent": [
                {"name": name, "calls": row.calls, "first": row.first} for name, row in self.absent.items()
            ],
            "memory": memory(),
        }  # fmt: skip

    def _operators(self, counts: list[tuple[str, str, str, Any, int]]) -> list[dict[str, Any]]:
        rows = []
        for op, frontend, device, dtype, calls in sorted(counts, key=lambda row: (-row[4], row[:3], str(row[3]))):
            if device == "meta" or op in _NOT_COMPUTED:
                continue
            key = (op, frontend)
            rows.append({
                "name": self.labels.get(key, op), "op": op, "frontend": frontend, "device": device,
                "dtype": str(dtype).removeprefix("torch."), "calls": calls, "first": self.lines.get(key, ""),
            })  # fmt: skip
        return rows


def memory() -> dict[str, Any]:
    """The largest amount of memory that the process has taken, and torch on each GPU."""
    found: dict[str, Any] = {"process": None, "gpus": {}}
    try:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        found["process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    except ImportError:  # Windows
        pass
    if torch.cuda.is_initialized():
        found["gpus"] = {f"cuda:{i}": torch.cuda.max_memory_allocated(i) for i in range(torch.cuda.device_count())}
    return found


def shims() -> list[dict[str, Any]]:
    """The names that `compatgrad.surroundings` gave back to the program."""
    surroundings = sys.modules.get("compatgrad.surroundings")
    used = () if surroundings is None else surroundings.used()
    return [
        {
            "name": use.name, "calls": use.count, "first": f"{shown(use.file)}:{use.line}", "library": use.library,
            "removed": use.removed, "now": use.now,
        }
        for use in used
    ]  # fmt: skip
