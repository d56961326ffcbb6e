"""Rank 1 does something else than the others. argv: what it does."""

import os
import signal
import socket
import sys
import time

import numpy as np

what = sys.argv[1]
if what in ("parameters", "dtype", "batches"):
    import chainer
    import chainer.functions as F
    import chainer.links as L
    import chainermn

    comm = chainermn.create_communicator("naive")
    model = chainer.Chain(a=L.Linear(2, 2), b=L.Linear(2, 2))
    if what == "dtype" and comm.rank == 1:
        model.b.W.array = model.b.W.array.astype("d")
        model.b.b.array = model.b.b.array.astype("d")
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.1), comm, zero_fill=False).setup(model)
    for step in range(2 if what == "batches" and comm.rank == 1 else 4):
        x = np.ones((1, 2), model.b.W.dtype if step else "f")
        model.cleargrads()
        if what == "parameters" and step == 2 and comm.rank == 1:
            F.sum(model.b(x)).backward()  # no gradient for `a`
        elif what != "dtype":
            F.sum(model.b(model.a(x))).backward()
        optimizer.update()
    sys.exit()

if what in ("later dtype", "later parameters"):  # after steps in which the processes agreed
    import chainer
    import chainer.functions as F
    import chainer.links as L
    import chainermn

    comm = chainermn.create_communicator("naive")
    model = chainer.Chain(a=L.Linear(2, 2), b=L.Linear(2, 2))
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(0.1), comm).setup(model)
    for step in range(4):
        if step == 3 and comm.rank == 1:
            if what == "later dtype":
                for param in model.params():
                    param.array = param.array.astype("d")
            else:
                model.add_link("c", L.Linear(2, 2))
        optimizer.update(lambda: F.sum(model.b(model.a(np.ones((1, 2), model.a.W.dtype)))))
    sys.exit()

if what == "snapshots":
    import threading

    import chainer
    import chainer.links as L
    import chainermn

    comm = chainermn.create_communicator("naive")
    model = L.Linear(300, 300)
    saver = chainermn.create_multi_node_checkpointer("cp", comm, cp_interval=2, path="saved")
    for iteration in range(10000):
        if comm.rank == 1 and iteration == 20:  # it is killed while it saves
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
        comm.multi_node_mean_grad(model, zero_fill=True)
        saver.save(model, iteration)
    sys.exit()

from compatgrad.core import distributed  # noqa: E402

if what == "absent" and os.environ["RANK"] == "1":
    sys.exit()
if what in ("port", "absent"):
    from compatgrad.core.distributed import _connecting

    _connecting._CONNECTION = 2.0
    os.environ["COMPATGRAD_TIMEOUT"] = "2"

group = distributed.world()
print(os.getpid(), flush=True)
group.barrier()
if group.rank == 1:
    if what == "raises":
        raise ValueError("boom")
    if what == "text":
        raise ValueError("\nthe second line")
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "leaves":
        sys.exit(0)
    if what == "hangs":
        time.sleep(300)
    if what == "network":  # every connection of this process is cut, while it goes on
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                    with socket.socket(fileno=os.dup(int(name))) as connection:
                        connection.getpeername()
                        connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # closed meanwhile, or not connected
    if what == "differs":
        group.broadcast_object("x")
x = __import__("torch").ones(3)
group.all_reduce(x)  # the line
