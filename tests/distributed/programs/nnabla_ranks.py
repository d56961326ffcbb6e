"""Run in three processes by `test_nnabla.py`: nnabla's communicators, and training that equals that of one process."""

import sys
import time

import nnabla as nn
import nnabla.communicators as C
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np
from expecting import expect_error

ctx = nn.Context(["cpu:float"], "CpuCachedArray", "0")
comm = C.MultiProcessDataParalellCommunicator(ctx)
comm.init()
rank, size = comm.rank, comm.size


def array(*values):
    return nn.NdArray.from_numpy_array(np.array(values, np.float32))


def same(a, b, tolerance=1e-6):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_collectives():
    expect_error(RuntimeError, "already initialized", comm.init)
    x, y = array(1 + rank, 2), array(10 * rank)
    comm.all_reduce([x, y])
    same(x.data, [6, 6]), same(y.data, [30])
    x = nn.NdArray.from_numpy_array(np.array([1.0 + rank], np.float16))
    comm.all_reduce(x, division=True, inplace=True)
    assert x.dtype == np.float32  # the communicator's type
    same(x.data, [2])
    x = array(1 + rank)
    comm.reduce(x, dst=1, division=True)
    same(x.data, [2 if rank == 1 else 1 + rank])
    x, y = array(1 + rank), array(rank, rank)
    comm.bcast([x, y], src=2)
    same(x.data, [3]), same(y.data, [2, 2])
    xs = [array(0, 0) for _ in range(size)]
    comm.all_gather(array(rank, 7), xs)
    same([v.data for v in xs], [[r, 7] for r in range(size)])
    x = array(0)
    comm.reduce_scatter([array(rank + 10 * i) for i in range(size)], x)
    same(x.data, [3 + 30 * rank])
    comm.barrier()


def test_groups():
    group = comm.new_group(("pair", [2, 0]))
    assert comm.list_groups() == {"world": [0, 1, 2], "pair": [2, 0]} and comm.find_group("none") == []
    x = array(rank)
    if rank == 1:
        expect_error(RuntimeError, "self (rank=1) is not included in pair", comm.all_reduce, x, group=group)
        same(x.data, [1])
    else:
        comm.bcast(x, src=0, group=group)  # the first of the group is rank 2
        same(x.data, [2])
        x = array(rank)
        comm.reduce(x, dst=1, group=group)  # the second is rank 0
        same(x.data, [2])
        xs = [array(0), array(0)]
        comm.all_gather(array(rank), xs, group=group)
        same([v.data for v in xs], [[2], [0]])
    expect_error(RuntimeError, "exists already", comm.new_group, ("pair", [0]))
    expect_error(RuntimeError, "unknown ranks", comm.new_group, ("other", [0, 3]))


def test_zeroing():
    arrays = [nn.NdArray((2,)) for _ in range(320)]  # more than the flags in one header
    for a in arrays:
        a.zero()
    comm.all_reduce(arrays)
    assert all(a.zeroing for a in arrays)
    if rank == 1:
        arrays[0].data, arrays[-1].data = 1.5, 2.5
    comm.all_reduce(arrays)
    assert [a.zeroing for a in arrays] == [False] + [True] * 318 + [False]
    same(arrays[0].data, [1.5] * 2), same(arrays[-1].data, [2.5] * 2)


def network(x, t, normalize):
    h = PF.affine(x, 16, name="first")
    h = normalize(h)
    h = F.relu(PF.affine(h, 8, name="second"))
    h = F.relu(PF.affine(h, 8, name="shared"))
    h = PF.affine(h, 8, name="shared")  # its gradient is complete after two functions
    return F.mean(F.squared_error(PF.affine(h, 1, name="last"), t))


def trained(x, t, exchange, normalize, steps=4):
    """The parameters after some steps, from the same start in all processes."""
    nn.clear_parameters()
    nn.set_default_context(ctx)
    np.random.seed(5)
    vx, vt = nn.Variable.from_numpy_array(x), nn.Variable.from_numpy_array(t)
    from nnabla.random import prng

    prng.seed(3)
    loss = network(vx, vt, normalize)
    solver = S.Momentum(0.1)
    solver.set_parameters(nn.get_parameters())
    for _ in range(steps):
        loss.forward()
        solver.zero_grad()
        exchange(loss, [p.grad for p in nn.get_parameters().values()])
        solver.update()
    return {name: p.d.copy() for name, p in nn.get_parameters(grad_only=False).items()}


def test_training():
    """Each way of adding up gradients gives the parameters of one process with the joined batch."""
    random = np.random.RandomState(1)
    x, t = random.randn(12, 5).astype(np.float32), random.randn(12, 1).astype(np.float32)
    mine = slice(4 * rank, 4 * rank + 4)
    expected = trained(x, t, lambda loss, grads: loss.backward(), lambda h: PF.batch_normalization(h, name="norm"))

    def after(loss, grads):
        loss.backward()
        comm.all_reduce(grads, division=True)

    def during(pack):
        def exchange(loss, grads):
            done = comm.all_reduce_callback(grads, pack, division=True)
            loss.backward(clear_buffer=True, communicator_callbacks=done)

        return exchange

    def normalize(h):
        return PF.sync_batch_normalization(h, comm, name="norm")

    for exchange in (after, during(1), during(40), during(1 << 20)):
        found = trained(x[mine], t[mine], exchange, normalize)
        for name, value in expected.items():
            # beta and gamma get gradients of this process's batch, which the program adds up
            same(found[name], value, 2e-5)


def test_callback_sends_during_backward():
    """Messages leave while backward runs, and the function that is used last decides when."""
    nn.clear_parameters()
    x, t = (nn.Variable.from_numpy_array(np.ones((4, n), np.float32)) for n in (5, 1))
    loss = network(x, t, lambda h: h)
    loss.forward()
    grads = {name: p.grad for name, p in nn.get_parameters().items()}
    for g in grads.values():
        g.zero()
    done = comm.all_reduce_callback(list(grads.values()), 1)
    sent = []
    send = type(done)._send
    type(done)._send = lambda self: (sent.append(len(seen)), send(self))
    seen = []
    try:
        loss.backward(communicator_callbacks=done, function_post_hook=lambda f: seen.append(f.name))
    finally:
        type(done)._send = send
    assert len(sent) == len(grads) == 8 and sent[0] < len(seen) // 2 and sent == sorted(sent), (sent, seen)


def test_gradients_are_scaled_before_they_are_summed():
    half = C.MultiProcessDataParallelCommunicator(nn.Context(["cpu:half"], "CpuCachedArray", "0"))
    half.init()
    x = nn.Variable.from_numpy_array(np.ones(2, np.float32), need_grad=True)
    for keep_dtype, factor in ((False, 40000.0), (True, 80000.0)):  # the sums, and 80000, are too large for float16
        loss = F.sum(x * factor)
        x.grad.zero()
        loss.forward()
        done = half.all_reduce_callback([x.grad], 1, scale_grad=0.25, keep_dtype=keep_dtype)
        loss.backward(communicator_callbacks=done)
        assert x.grad.dtype == (np.float32 if keep_dtype else np.float16)
        same(x.g, [0.75 * factor] * 2, 1e-3)


def test_disagreement():
    """Graphs that differ are an error in all processes, with the name of the call."""
    xs = [nn.Variable.from_numpy_array(np.ones(n, np.float32), need_grad=True) for n in (2, 3)]
    early, late = xs if rank else xs[::-1]
    loss = F.sum(early) + F.sum(F.exp(F.sin(late)))
    loss.forward()
    done = comm.all_reduce_callback([x.grad for x in xs], 100)
    expect_error(RuntimeError, "do not pass the same arrays", loss.backward, communicator_callbacks=done)


def test_second_derivative():
    """The gradient of a gradient through the statistics of all processes."""
    random = np.random.RandomState(2)
    x = random.randn(6, 3).astype(np.float32)
    gamma, beta = (random.randn(1, 3).astype(np.float32) for _ in range(2))
    weight = random.randn(6, 3).astype(np.float32)
    mine = slice(2 * rank, 2 * rank + 2)

    def second(rows, normalize):
        v, g, b = (nn.Variable.from_numpy_array(a, need_grad=True) for a in (x[rows], gamma, beta))
        y = normalize(v, b, g)
        (gx,) = nn.grad([F.sum(F.sin(y) * nn.Variable.from_numpy_array(weight[rows]))], [v])
        loss = F.sum(gx**2)
        v.grad.zero()
        loss.forward()
        loss.backward()
        return gx.d.copy(), v.g.copy()

    def running():
        return [nn.Variable.from_numpy_array(np.full((1, 3), v, np.float32)) for v in (0, 1)]

    whole = second(slice(None), lambda v, b, g: F.batch_normalization(v, b, g, *running()))
    part = second(mine, lambda v, b, g: F.sync_batch_normalization(v, b, g, *running(), comm))
    same(part[0], whole[0][mine], 1e-4), same(part[1], whole[1][mine], 1e-3)


def test_uneven_batches():
    """Batches of different sizes count as one batch."""
    x = np.random.RandomState(4).randn(6, 2).astype(np.float32)
    rows = [slice(0, 1), slice(1, 3), slice(3, 6)][rank]
    running = [nn.Variable.from_numpy_array(np.full((1, 2), v, np.float32)) for v in (0, 1)]
    y, mean, variance = F.sync_batch_normalization(
        nn.Variable.from_numpy_array(x[rows]), None, None, *running, comm, output_stat=True
    )
    nn.forward_all([y, mean, variance])
    same(mean.d, x.mean(0, keepdims=True)), same(variance.d, x.var(0, keepdims=True), 1e-5)
    same(y.d, ((x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5))[rows], 1e-5)
    same(running[1].d, 0.9 + 0.1 * x.var(0, ddof=1, keepdims=True), 1e-5)


def test_watchdog():
    import io
    import os

    os.environ["NNABLA_MPI_WATCH_DOG_TIMEOUT"] = "0.2"
    was, sys.stderr = sys.stderr, io.StringIO()
    try:
        if rank == 2:
            time.sleep(1)
        comm.barrier()
        text = sys.stderr.getvalue()
    finally:
        sys.stderr = was
        del os.environ["NNABLA_MPI_WATCH_DOG_TIMEOUT"]
    assert ("some node stop response for 0.20 seconds" in text) == (rank != 2), text


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        if rank == 0:
            print(name)
