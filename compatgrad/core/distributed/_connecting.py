"""Connects the processes of a job: where they meet, and what each leaves there about itself."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import datetime
import hashlib
import importlib.util
import json
import multiprocessing
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compatgrad.core.distributed import launching
from compatgrad.core.distributed.errors import DistributedError
from compatgrad.core.lines import program_line

#: seconds that a process waits for another, unless COMPATGRAD_TIMEOUT says another number
_DEADLINE = 1800.0
# seconds that processes have to connect, at least: they start at different times
_CONNECTION = 120.0
# seconds for reading the board: a process that reads why others hang must not hang itself
_LOOK = 3.0
# longest time that the process with the store waits for the others at its end
_LAST = 60.0
_PREFIX = "compatgrad"


def is_helper() -> bool:
    """Whether `multiprocessing` started this process, for a rank's own use: it has the variables of that rank, and is
    no process of the job."""
    return multiprocessing.parent_process() is not None


def ancestor_without(name: str) -> str:
    """The launcher's process, as "PID-START": the nearest ancestor whose environment lacks the variable `name`, which
    the launcher sets. It is the same for all processes of a job on one host, even if each runs in a shell of its own.
    "" where /proc does not tell."""
    process = os.getpid()
    try:
        while process > 0:
            with open(f"/proc/{process}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            with open(f"/proc/{process}/environ", "rb") as file:
                variables = file.read()
            if process != os.getpid() and f"\0{name}=".encode() not in b"\0" + variables:
                return f"{process}-{fields[19].decode()}"  # its start time, because process numbers are used again
            process = int(fields[1])
    except OSError:  # another user's process: it is not one of the job
        return str(process)
    return ""


def deadline() -> float:
    """Seconds after which a process gives up waiting for another."""
    text = os.environ.get("COMPATGRAD_TIMEOUT", "")
    if not text:
        return _DEADLINE
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise ValueError(f"COMPATGRAD_TIMEOUT must be a number of seconds above 0, got {text!r}")
    return seconds


class Board:
    """What processes tell each other about themselves, outside of all collectives: a store of texts by name. Whatever
    fails there is left out, since it only explains another error."""

    def __init__(self, store: Any, rank: int, size: int) -> None:
        from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

        self.rank, self.size = rank, size
        # whether the store is in this process
        self.is_host = rank == 0 and isinstance(store, TCPStore) and "TORCHELASTIC_USE_AGENT_STORE" not in os.environ
        self.store = PrefixStore(_PREFIX, store)
        self.post("process", {"pid": os.getpid(), "host": socket.gethostname()})

    def post(self, kind: str, value: Any) -> None:
        """Leaves `value`, which JSON can hold, under `kind` and this process's rank."""
        with contextlib.suppress(RuntimeError, ValueError):
            self.store.set(f"{kind}/{self.rank}", json.dumps(value))

    def read(self, kind: str, rank: int) -> Any:
        """What process `rank` left under `kind`, or None."""
        key = f"{kind}/{rank}"
        try:
            if not self.store.check([key]):
                return None
            self.store.wait([key], datetime.timedelta(seconds=_LOOK))
            return json.loads(self.store.get(key).decode())
        except (RuntimeError, ValueError):
            return None

    def has(self, kind: str, rank: int) -> bool:
        """Whether process `rank` left something under `kind`."""
        try:
            return bool(self.store.check([f"{kind}/{rank}"]))
        except (RuntimeError, ValueError):
            return False

    def is_gone(self, rank: int) -> bool:
        """Whether process `rank` runs on this host and has ended."""
        process = self.read("process", rank)
        if process is None or process["host"] != socket.gethostname():
            return False
        try:
            with open(f"/proc/{process['pid']}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except FileNotFoundError:
            return os.path.isdir("/proc/self")
        except OSError:
            return False


def connect(launch: launching.Launch) -> tuple[Board, Any]:
    """Initializes `torch.distributed` for all processes of the job, unless the program did. Each process must call it.
    Returns the board, and torch's group if it is not that of all processes."""
    import torch.distributed as dist
    from torch.distributed import DistNetworkError

    if not dist.is_available():
        raise RuntimeError(f"this is one of {launch.size} processes, and this torch has no torch.distributed")
    folder = ""
    if not dist.is_initialized():
        if is_helper():
            raise RuntimeError(
                f"multiprocessing started this process for rank {launch.rank}; it is not one of the {launch.size} "
                "processes that communicate. Create communicators in the main process only, below "
                "`if __name__ == '__main__':`, or initialize torch.distributed yourself before"
            )
        try:
            store, folder = _store(launch)
        except (DistNetworkError, TimeoutError) as error:
            raise DistributedError(_no_meeting(launch, error)) from error
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
        hook = sys.excepthook
        with contextlib.suppress(RuntimeError):
            store.set(f"{_PREFIX}-came/{launch.rank}", "")
        try:
            dist.init_process_group(
                backend, store=store, rank=launch.rank, world_size=launch.size,
                timeout=connection_time(),
            )  # fmt: skip
        except RuntimeError as error:
            raise DistributedError(
                f"the {launch.size} processes ({launch.launcher}) did not all connect within "
                f"{connection_time().total_seconds():g} s; rank {launch.rank} at "
                f"{program_line() or 'an unknown line'}: {_absent(store, launch.size) or _first_line(error)}"
            ) from error
        # torch's hook begins each line with the rank, and cannot be told from one that the program sets
        sys.excepthook = hook
    handle, whole = None, dist.group.WORLD
    assert whole is not None
    if all(device.type != "cpu" for device in whole._device_types):
        # the program initialized NCCL alone; messages need the CPU, too
        handle = dist.new_group(backend="cpu:gloo,cuda:nccl", timeout=connection_time())
        never_destroy(handle)
    never_destroy(whole)
    board = Board(dist.distributed_c10d._get_default_store(), launch.rank, launch.size)
    atexit.register(_leave, board, folder)
    return board, handle


def _in_time(make: Callable[[], Any]) -> Any:
    """What `make` returns. Raises TimeoutError if it takes much longer than the time to connect: torch waits forever
    where another program listens on the port and does not answer."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.extend((make(), None))
        except BaseException as error:  # raised below, in the thread of the program
            results.extend((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seconds = connection_time().total_seconds() + _LOOK
    thread.join(seconds)
    if len(results) < 2:
        raise TimeoutError(f"no answer within {seconds:g} s from the port at which the processes meet")
    store, error = results
    if error is not None:
        raise error
    return store


def _no_meeting(launch: launching.Launch, error: BaseException) -> str:
    """Words for processes that do not find each other."""
    text = (
        f"the {launch.size} processes ({launch.launcher}) do not meet; rank {launch.rank} at "
        f"{program_line() or 'an unknown line'}: {_first_line(error)}"
    )
    if "EADDRINUSE" in text or isinstance(error, TimeoutError):
        port = os.environ.get("MASTER_PORT", "it derives from the job's number")
        sure = "Another" if "EADDRINUSE" in text else "Perhaps another"
        text += f". {sure} program uses this port ({port}): set MASTER_PORT to a free one, the same for all processes"
    return text


def connection_time() -> datetime.timedelta:
    return datetime.timedelta(seconds=max(deadline(), _CONNECTION))


def never_destroy(group: Any) -> None:
    """Keeps torch's group until the process has ended. Its destructor waits for messages that are under way, and so
    for a process that hangs."""
    for thing in (group, *(group._get_backend(device) for device in group._device_types)):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


# the name of the group that a thread makes, and how many groups of the same processes this process has made
_naming = threading.local()
_made: dict[str, int] = {}


def new_group(ranks: Sequence[int]) -> Any:
    """torch's group of the processes with these numbers in the job; only they call it. It is never destroyed.

    The number of groups that a process belongs to is part of the name that torch gives to such a group. Processes of
    which some belong to more groups than others would wait for each other under different names.
    """
    import torch.distributed as dist

    module = dist.distributed_c10d
    own = module._process_group_name
    if not hasattr(own, "_torch"):

        def name_of(*args: Any, **kwargs: Any) -> Any:
            return getattr(_naming, "name", None) or own(*args, **kwargs)

        name_of._torch = own  # type: ignore[attr-defined]
        module._process_group_name = name_of
    members = "_".join(map(str, ranks))
    _made[members] = _made.get(members, 0) + 1
    _naming.name = f"{_PREFIX}_{members}_{_made[members]}"
    try:
        handle = dist.new_group(list(ranks), timeout=connection_time(), use_local_synchronization=True)
    finally:
        _naming.name = None
    never_destroy(handle)
    return handle


def _absent(store: Any, size: int) -> str:
    """Which processes never came to the store, in words; "" if all did, or if the store does not answer."""
    try:
        ranks = [rank for rank in range(size) if not store.check([f"{_PREFIX}-came/{rank}"])]
    except RuntimeError:
        return ""
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:8]))}{more} did not come" if ranks else ""


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _leave(board: Board, folder: str) -> None:
    """Tells the other processes that this one ends, and why. The last one removes the job's folder."""
    # what the interpreter reports as uncaught
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    board.post("left", None if error is None else f"{type(error).__name__}: {_first_line(error)}")
    if board.is_host and error is None and board.read("failed", board.rank) is None:
        # the store ends with this process, and the others may still need it for new groups
        until = time.monotonic() + min(deadline(), _LAST)
        others = [rank for rank in range(board.size) if rank != board.rank]
        while time.monotonic() < until and not all(board.has("left", r) or board.is_gone(r) for r in others):
            time.sleep(0.05)
    with contextlib.suppress(RuntimeError):
        if folder and board.store.add("ended", 1) == board.size:
            shutil.rmtree(folder, ignore_errors=True)


def _store(launch: launching.Launch) -> tuple[Any, str]:
    """Where the processes find each other, and the folder that is made for it or "". No port is fixed: two jobs on one
    host must not meet."""
    from torch.distributed import FileStore, TCPStore, rendezvous  # type: ignore[attr-defined]

    timeout = connection_time()
    on_one_host = launch.local_size == launch.size
    if on_one_host and "GLOO_SOCKET_IFNAME" not in os.environ:
        names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
        if "lo" in names:  # the job then depends on no network
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    path = os.environ.get("COMPATGRAD_STORE")
    if path:
        return FileStore(path, launch.size), ""
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    if launch.launcher == "torchrun" or (host and port):
        return _in_time(lambda: next(iter(rendezvous("env://", launch.rank, launch.size, timeout=timeout)))[0]), ""
    if launch.launcher == "Slurm":
        address = host or _first_host(os.environ.get("SLURM_STEP_NODELIST", ""))
        job = "-".join(os.environ.get(name, "") for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
        if address and job != "-":
            there = (address, int(port or _port(job)))
            return _in_time(lambda: TCPStore(*there, launch.size, launch.rank == 0, timeout)), ""
    if on_one_host and not host:
        rank_variable = next(v[1] for v in launching._VARIABLES if v[0] == launch.launcher)
        job = ancestor_without(rank_variable)
        if job:
            folder = _folder(job)
            return FileStore(os.path.join(folder, "store"), launch.size), folder
    meeting = _by_mpi4py()
    if meeting:
        return _in_time(lambda: TCPStore(*meeting, launch.size, launch.rank == 0, timeout)), ""
    where = "on one host" if on_one_host else "on several hosts"
    raise RuntimeError(
        f"{launch.launcher} started {launch.size} processes {where}, and does not say where they can meet: set "
        "MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port of it, the same for all processes, or "
        "install mpi4py"
    )


def _folder(job: str) -> str:
    """The job's folder in the folder for temporary files, which belongs to this user alone."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"compatgrad-{user}-{job}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if hasattr(os, "getuid") and os.stat(folder).st_uid != user:
        raise RuntimeError(f"the folder {folder}, in which the processes of this job meet, belongs to another user")
    return folder


def _port(job: str) -> int:
    """A port that the processes of a job derive from its number."""
    return 20000 + int.from_bytes(hashlib.sha256(job.encode()).digest()[:4], "big") % 12000


def _first_host(hosts: str) -> str:
    """The first name of Slurm's list of hosts, as "node[03-05,9],login"."""
    found = re.match(r"([^,\[]+)(?:\[([^\],-]+))?", hosts)
    return "" if found is None else found[1] + (found[2] or "")


def _by_mpi4py() -> tuple[str, int] | None:
    """An address of rank 0 and a free port of it, which the real mpi4py carries to the other processes."""
    if importlib.util.find_spec("mpi4py") is None:
        return None
    try:
        from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]

        comm = MPI.COMM_WORLD
        if hasattr(MPI, "_compatgrad") or comm.size == 1:  # it would ask this function
            return None
        mine = None
        if comm.rank == 0:
            with socket.socket() as probe:
                probe.bind(("", 0))
                mine = (socket.gethostname(), probe.getsockname()[1])
        host, port = comm.bcast(mine, 0)
    except (ImportError, RuntimeError, AttributeError):
        return None
    return str(host), int(port)
