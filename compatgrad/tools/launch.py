"""`python -m compatgrad launch`: runs a program in several processes of this host."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from typing import IO

HELP = """\
usage: python -m compatgrad launch -n N [--timeout=SECONDS] [OPTION ...] SCRIPT [ARGUMENT ...]

Runs a program in N processes of this host, each by `python -m compatgrad run`, which also
describes the other OPTIONs, SCRIPT, -m MODULE and -c CODE. The processes find each other:
`chainermn.create_communicator`, nnabla's communicators, MXNet's `dist` stores and
torch.distributed have N ranks.

Each line that a process prints begins with its rank. When a process fails, the others get 5
seconds to report where they were. Then they are ended (SIGTERM, after 5 more seconds SIGKILL), the
traceback of the process that failed first is printed again, and its exit code is returned. Signals
are passed on to all processes.

options:
  -n N                   number of processes
  --timeout=SECONDS      how long a process waits for another (1800); then it raises an error
                         that names the missing processes
  --no-prefix            print lines as they are

Programs started by mpiexec, torchrun, srun or horovodrun need no `launch`:
`mpiexec -n 4 python -m compatgrad run train.py`.
"""

# seconds from the first failure to SIGTERM, and from SIGTERM to SIGKILL
_GRACE = 5.0
# lines of a process's error output that are printed again
_KEPT = 100
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")


class _UsageError(Exception):
    pass


def main(arguments: list[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(HELP, end="")
        return 0
    try:
        size, timeout, prefix, program = _parse(arguments)
    except _UsageError as error:
        print(f"compatgrad launch: {error}; see `python -m compatgrad launch --help`", file=sys.stderr)
        return 2
    folder = tempfile.mkdtemp(prefix="compatgrad-launch-")
    try:
        return _Job(size, timeout, prefix, program, folder).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _parse(arguments: list[str]) -> tuple[int, float | None, bool, list[str]]:
    rest = list(arguments)
    size: int | None = None
    timeout: float | None = None
    prefix = True

    def value(name: str, given: str) -> str:
        if given:
            return given
        if not rest:
            raise _UsageError(f"{name} needs a value")
        return rest.pop(0)

    while rest:
        name, equals, given = rest[0].partition("=")
        if name.startswith("-n") and name[2:].isdigit():  # -n4
            name, given = "-n", name[2:]
        if name not in ("-n", "--timeout", "--no-prefix", "--"):
            break
        del rest[0]
        if name == "--":
            break
        if name == "-n":
            text = value(name, given)
            if not text.isdigit() or int(text) < 1:
                raise _UsageError(f"-n must be a number of processes, at least 1, got {text!r}")
            size = int(text)
        elif name == "--timeout":
            text = value(name, given)
            try:
                timeout = float(text)
            except ValueError:
                timeout = -1.0
            if not 0 < timeout < 1e9:
                raise _UsageError(f"--timeout must be a number of seconds above 0, got {text!r}")
        else:
            prefix = False
    if size is None:
        raise _UsageError("say by -n how many processes to start")
    if not rest:
        raise _UsageError("name a script, -m MODULE or -c CODE")
    return size, timeout, prefix, rest


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    """Runs in each new process: if this launcher is killed, the kernel ends the process."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class _Job:
    """The processes of a launch."""

    def __init__(self, size: int, timeout: float | None, prefix: bool, program: list[str], folder: str) -> None:
        self.size, self.timeout, self.prefix, self.program, self.folder = size, timeout, prefix, program, folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ended: queue.Queue[tuple[int, int]] = queue.Queue()
        self.errors: list[deque[bytes]] = [deque(maxlen=_KEPT) for _ in range(size)]
        self.printing = threading.Lock()
        self.signalled = 0

    def environment(self, rank: int, port: int) -> dict[str, str]:
        """The variables of a process: torch's, and those for which programs look."""
        size = self.size
        numbers = {
            "RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size, "GROUP_RANK": 0,
            "MASTER_PORT": port,
            "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": size,
            "OMPI_COMM_WORLD_LOCAL_RANK": rank, "OMPI_COMM_WORLD_LOCAL_SIZE": size,
            "HOROVOD_RANK": rank, "HOROVOD_SIZE": size, "HOROVOD_LOCAL_RANK": rank, "HOROVOD_LOCAL_SIZE": size,
            "HOROVOD_CROSS_RANK": 0, "HOROVOD_CROSS_SIZE": 1,
        }  # fmt: skip
        new = {name: str(number) for name, number in numbers.items()}
        new.update(
            MASTER_ADDR="127.0.0.1", COMPATGRAD_STORE=os.path.join(self.folder, "store"), COMPATGRAD_LAUNCHER="launch"
        )
        if self.timeout is not None:
            new["COMPATGRAD_TIMEOUT"] = f"{self.timeout:g}"
        result = dict(os.environ, **new)
        result.setdefault("PYTHONUNBUFFERED", "1")
        result.setdefault("OMP_NUM_THREADS", str(max(1, len(_cores()) // size)))
        return result

    def run(self) -> int:
        """Runs the processes to their ends. Returns the exit code of the job."""
        for name in _FORWARDED:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._forward)
        port = _free_port()
        readers = []
        command = [sys.executable, *_options(), "-m", "compatgrad", "run", *self.program]
        for rank in range(self.size):
            # a session of its own: what a rank starts can be ended with it, and Ctrl-C reaches it once, from here
            process = subprocess.Popen(
                command, env=self.environment(rank, port), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                stdin=None if rank == 0 else subprocess.DEVNULL, start_new_session=True, preexec_fn=_end_with_parent,
            )  # fmt: skip
            self.processes.append(process)
            assert process.stdout is not None and process.stderr is not None
            for source, target, kept in (
                (process.stdout, sys.stdout, None), (process.stderr, sys.stderr, self.errors[rank]),
            ):  # fmt: skip
                reader = threading.Thread(target=self._copy, args=(rank, source, target.buffer, kept), daemon=True)
                reader.start()
                readers.append(reader)
            threading.Thread(target=self._wait, args=(rank, process), daemon=True).start()
        first: tuple[int, int] | None = None
        for _ in range(self.size):
            rank, code = self._next()
            if code and first is None:
                first = rank, code
                self._end()
        for process in self.processes if first is not None or self.signalled else ():
            _send(process, signal.SIGKILL, group=True)  # what the ranks started
        for reader in readers:
            reader.join(2.0)
        if first is None:
            return 0
        return self._report(*first)

    def _next(self) -> tuple[int, int]:
        while True:  # with a timeout, so that signals are handled
            with contextlib.suppress(queue.Empty):
                return self.ended.get(timeout=0.2)

    def _wait(self, rank: int, process: subprocess.Popen[bytes]) -> None:
        self.ended.put((rank, process.wait()))

    def _copy(self, rank: int, source: IO[bytes], target: IO[bytes], kept: deque[bytes] | None) -> None:
        """Copies what a process prints, line by line."""
        prefix = f"[{rank}] ".encode() if self.prefix else b""
        rest = b""
        while True:
            data = os.read(source.fileno(), 1 << 16)
            # bars of progress end their lines by a carriage return
            pieces = (rest + data).replace(b"\r\n", b"\n").replace(b"\r", b"\r\0").replace(b"\n", b"\n\0").split(b"\0")
            rest = pieces.pop()
            if not data and rest:
                pieces.append(rest + b"\n")
            with self.printing:
                for piece in pieces:
                    target.write(prefix + piece)
                    if kept is not None:
                        kept.append(piece)
                target.flush()
            if not data:
                return

    def _forward(self, number: int, frame: object) -> None:
        for process in self.processes:
            _send(process, number, group=number == signal.SIGINT)
        if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            self.signalled = number
            threading.Thread(target=self._kill_later, daemon=True).start()

    def _end(self) -> None:
        """Ends all processes after one has failed. The others first have some time to notice it themselves, because
        their errors say where they were."""
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and any(process.poll() is None for process in self.processes):
            time.sleep(0.05)
        for process in self.processes:
            _send(process, signal.SIGTERM)
        threading.Thread(target=self._kill_later, daemon=True).start()

    def _kill_later(self) -> None:
        time.sleep(_GRACE)
        for process in self.processes:
            _send(process, signal.SIGKILL, group=True)

    def _report(self, rank: int, code: int) -> int:
        """Prints what the first process that failed said, and returns its exit code."""
        lines = list(self.errors[rank])
        starts = [i for i, line in enumerate(lines) if line.startswith(b"Traceback (most recent call last)")]
        with self.printing:
            what = f"exit code {code}" if code > 0 else f"killed by {_signal_name(-code)}"
            if self.signalled:
                print(f"compatgrad launch: ended by {_signal_name(self.signalled)}", file=sys.stderr)
                return 128 + self.signalled
            print(f"compatgrad launch: rank {rank} failed first ({what})", file=sys.stderr, end="")
            print(", and said:" if starts else "", file=sys.stderr, flush=True)
            if starts:
                sys.stderr.buffer.write(b"".join(lines[starts[-1] :]))
                sys.stderr.flush()
        return code if code > 0 else 128 - code


def _send(process: subprocess.Popen[bytes], number: int, group: bool = False) -> None:
    """Sends a signal to a process, or with `group` to all that it started as well."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if group:
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.send_signal(number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return list(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _options() -> list[str]:
    """The options of this Python, for the processes."""
    return subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined,no-any-return]
