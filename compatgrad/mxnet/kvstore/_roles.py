"""The roles of ps-lite's processes, which MXNet's `tools/launch.py` starts: `DMLC_ROLE` is worker, server or scheduler.

Here workers exchange gradients among themselves. The scheduler is where they meet, and waits for their end; servers
have nothing to do.
"""

from __future__ import annotations

import atexit
import datetime
import os
import socket
import sys
import time

from compatgrad.core import distributed

from ..base import MXNetError

_RANK, _ENDED, _WORKER = "compatgrad/rank", "compatgrad/ended", "compatgrad/worker"
_LOCAL = ("127.0.0.1", "localhost")


def _variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise MXNetError(
            f"DMLC_ROLE is set, and {name} is not. Start the program by `python -m compatgrad launch -n N`, or by a "
            "launcher that sets DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT and DMLC_NUM_WORKER"
        )
    return value


def connected() -> distributed.Group:
    """The group of all workers. The first call connects them."""
    if os.environ.get("DMLC_ROLE") == "worker" and not distributed.detect().launcher:
        _meet()
    return distributed.world()


def _meet() -> None:
    """Connects this worker to the others, by the scheduler. It numbers workers in the order in which they come."""
    import torch.distributed as dist

    host, port, size = _variable("DMLC_PS_ROOT_URI"), int(_variable("DMLC_PS_ROOT_PORT")), _variable("DMLC_NUM_WORKER")
    if host in _LOCAL and "lo" in [name for _, name in socket.if_nameindex()]:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    timeout = datetime.timedelta(seconds=float(os.environ.get("COMPATGRAD_TIMEOUT") or 1800))
    try:
        store = dist.TCPStore(host, port, None, False, timeout, wait_for_workers=False)
    except RuntimeError as error:
        raise MXNetError(f"no scheduler answers at DMLC_PS_ROOT_URI {host}, port {port}: {error}") from error
    rank = store.add(_RANK, 1) - 1
    store.set(f"{_WORKER}/{rank}", f"{os.getpid()} {socket.gethostname()}")
    atexit.register(store.add, _ENDED, 1)
    backend = "cpu:gloo,cuda:nccl" if dist.is_nccl_available() and _has_gpu() else "gloo"
    dist.init_process_group(
        backend, store=dist.PrefixStore("job", store), rank=rank, world_size=int(size), timeout=timeout
    )


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _schedule() -> None:
    """Waits until all workers have ended, or this process's parent has."""
    import torch.distributed as dist

    size, port, parent = int(_variable("DMLC_NUM_WORKER")), int(_variable("DMLC_PS_ROOT_PORT")), os.getppid()
    timeout = datetime.timedelta(seconds=float(os.environ.get("COMPATGRAD_TIMEOUT") or 1800))
    store = dist.TCPStore("0.0.0.0", port, None, True, timeout, wait_for_workers=False)
    while store.add(_ENDED, 0) < size and not _none_runs(store, size) and os.getppid() == parent:
        time.sleep(0.2)


def _none_runs(store: object, size: int) -> bool:
    """Whether all workers run on this host, and have ended, even if they were killed."""
    for rank in range(size):
        key = f"{_WORKER}/{rank}"
        if not store.check([key]):  # type: ignore[attr-defined]
            return False
        pid, host = store.get(key).decode().split()  # type: ignore[attr-defined]
        if host != socket.gethostname() or _runs(pid):
            return False
    return True


def _runs(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except FileNotFoundError:
        return False


def serve() -> None:
    """Called at the end of `import mxnet`, which does not return in a scheduler and in a server."""
    role = os.environ.get("DMLC_ROLE")
    if role in ("scheduler", "server"):
        if role == "scheduler":
            _schedule()
        sys.exit(0)
