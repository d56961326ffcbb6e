"""Waits for other processes, and finds out why they do not come."""

from __future__ import annotations

import contextlib
import datetime
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from compatgrad.core.distributed._connecting import Board, deadline
from compatgrad.core.distributed.errors import DistributedError
from compatgrad.core.lines import program_frame, program_line, shown

# seconds after which a call is shown to the other processes
_LATE = 1.0
# seconds that a process whose call failed waits for the reports of the others
_GRACE = 2.5
# how many ranks a message names
_NAMED = 8


class Call(NamedTuple):
    """A call in which a process waits for the others of a group."""

    name: str
    # what it is about, or a function that says it, since most calls are never shown
    detail: str | Callable[[], str]
    group: str
    started: float
    # which of the collectives of its processes it is; 0 for a message between two processes
    number: int = 0

    @property
    def words(self) -> str:
        """What the call is about."""
        return self.detail if isinstance(self.detail, str) else self.detail()

    def __str__(self) -> str:
        words = self.words
        return self.name + (f" of {words}" if words else "")


class Watch:
    """Shows on the board in which call this process waits, if that takes long. A thread does it, because the call
    itself does not return to Python."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._calls: dict[int, Call] = {}  # by thread
        self._threads: set[int] = set()  # all threads that have waited
        self.begun: dict[str, int] = {}  # how many collectives of each of its groups this process has begun
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="compatgrad-watch", daemon=True)
        self._thread.start()
        # before the interpreter stops the threads
        threading._register_atexit(self.end)  # type: ignore[attr-defined]

    def end(self) -> None:
        """Ends the thread."""
        self._ended.set()

    def _run(self) -> None:
        posted: Call | None = None
        while not self._ended.wait(_LATE / 2):
            thread, call = min(list(self._calls.items()), key=lambda item: item[1].started, default=(0, None))
            if call is posted:
                continue
            if call is None or time.monotonic() - call.started > _LATE:
                self.board.post("stuck", None if call is None else self._place(call, thread))
                posted = call

    def _place(self, call: Call, thread: int) -> dict[str, Any]:
        frame = program_frame(sys._current_frames().get(thread))
        return self.place(call, "" if frame is None else f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}")

    def place(self, call: Call, line: str) -> dict[str, Any]:
        """What the others need to know of a call in which this process waits. The numbers of collectives of a process
        in which several threads wait mean nothing."""
        return {
            "name": call.name, "detail": call.words, "group": call.group, "line": line,
            "number": 0 if self.several else call.number, "begun": self.begun,
        }  # fmt: skip

    @property
    def several(self) -> bool:
        """Whether several threads of this process have waited."""
        return len(self._threads) > 1

    def numbered(self, call: Call) -> Call:
        """The call of a collective that begins, with its number."""
        self.begun[call.group] += 1
        return call._replace(number=self.begun[call.group])

    @contextlib.contextmanager
    def during(self, call: Call) -> Any:
        """Shows `call` while the block runs."""
        thread = threading.get_ident()
        outer = self._calls.get(thread)
        self._threads.add(thread)
        self._calls[thread] = call
        try:
            yield
        finally:
            if outer is None:
                del self._calls[thread]
            else:
                self._calls[thread] = outer


def complete(watch: Watch, works: Sequence[Any], call: Call, ranks: Sequence[int]) -> None:
    """Waits until all of torch's `works` are complete. Raises DistributedError if a process of `ranks`, which are
    numbers in the job, is gone, called something else, or does not come before the deadline."""
    limit = deadline()
    # a look at the board costs a question per process
    look = max(1.0, len(ranks) / 16)
    with watch.during(call):
        for work in works:
            while True:
                # asked first: a work that completes while the board is read has succeeded, though its wait ended
                completed = work.is_completed()
                left = call.started + limit - time.monotonic()
                try:
                    work.wait(datetime.timedelta(seconds=max(min(look, left), 0.001)))
                    break
                except RuntimeError as error:
                    if completed:
                        raise failure(watch, call, ranks, error) from None
                    late = left <= look or _cannot_come(watch, call, ranks)
                    if late and not work.is_completed():
                        raise failure(watch, call, ranks, None) from None


def _cannot_come(watch: Watch, call: Call, ranks: Sequence[int]) -> bool:
    """Whether a process has ended, or waits in a collective that does not fit to `call`."""
    board = watch.board
    for rank in ranks:
        if rank == board.rank:
            continue
        stuck = board.read("stuck", rank)
        if stuck is not None and not watch.several and stuck["number"] and not _fits(watch, stuck, call):
            return True
        if board.read("failed", rank) or board.is_gone(rank):
            return True
    return False


def _fits(watch: Watch, stuck: dict[str, Any], call: Call) -> bool:
    """False if two processes wait in collectives of which neither can end. Otherwise the other process may come later:
    it may wait for a third process, or the board may show what it did before."""
    group, number = stuck["group"], stuck["number"]
    if group == call.group:
        return number != call.number or not _differs(stuck, call)
    # each waits in a group of both, for a collective that the other has not begun
    return bool(watch.begun.get(group, number) >= number or stuck["begun"].get(call.group, 0) >= call.number)


def _differs(stuck: dict[str, str], call: Call) -> bool:
    return (stuck["name"], stuck["detail"]) != (call.name, call.words)


def failure(watch: Watch, call: Call, ranks: Sequence[int], error: BaseException | None) -> DistributedError:
    """The error for a `call` that did not succeed: `error`, or None for a process that waited in vain."""
    board, line = watch.board, program_line()
    board.post("stuck", watch.place(call, line))
    others = [rank for rank in ranks if rank != board.rank]
    until = time.monotonic() + _GRACE
    while True:
        found = {rank: _state(board, rank, call) for rank in others}
        if all(found.values()) or time.monotonic() > until:
            break
        time.sleep(0.1)
    waited = f"{time.monotonic() - call.started - (_GRACE if not all(found.values()) else 0):.0f} s"
    missing = {rank: text or "has not called it" for rank, text in found.items() if text != "waits"}
    known = {rank: text for rank, text in missing.items() if not text.startswith("failed")} or missing
    board.post("failed", {"missing": sorted(known)})
    listed = [f"rank {rank} {text}" for rank, text in sorted(known.items())]
    if len(listed) > _NAMED:
        listed[_NAMED:] = [f"and {len(listed) - _NAMED} more"]
    head = f"{call} at {line or 'an unknown line'}, in rank {board.rank} of {board.size}: "
    if error is None:
        head += f"waited {waited}; "
    reason = "; ".join(listed)
    if not reason:
        reason = "no process is missing" if error is None else f"no process has ended; {_transport(error)}"
    return DistributedError(head + reason)


def _transport(error: BaseException) -> str:
    """What torch's transport says, without the place in its source and its advice."""
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return re.sub(r"^\[\S+:\d+\] ", "", text).split(". This is typically", 1)[0]


def _state(board: Board, rank: int, call: Call) -> str:
    """What process `rank` does: "waits" if it waits in the same call, "" if nothing is known."""
    failed = board.read("failed", rank)
    if failed is None and board.has("left", rank):
        why = board.read("left", rank)
        return "has ended" + (f" by {why}" if why else "")
    if failed is None and board.is_gone(rank):
        return "is gone: its process ended without a word (killed?)"
    stuck = board.read("stuck", rank)
    if stuck is None or (stuck["group"] == call.group and not _differs(stuck, call)):
        if failed is not None:
            missing = [r for r in failed["missing"] if r != board.rank]
            if missing:
                return f"failed, since {_names(missing)} did not come"
        return "" if stuck is None else "waits"
    called = Call(stuck["name"], stuck["detail"], stuck["group"], 0.0)
    return f"is in {called} at {stuck['line'] or 'an unknown line'}"


def _names(ranks: Sequence[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks[:_NAMED]))
