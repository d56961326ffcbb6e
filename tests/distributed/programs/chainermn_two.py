"""ChainerMN in two processes: what golden values do not show. Each rank checks what it gets."""

import os
import sys
import warnings

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
import chainermn.functions as MF
import chainermn.links as ML
import numpy as np
from chainer.training import extensions

warnings.simplefilter("ignore")
chainer.disable_experimental_feature_warning = True
FOLDER = sys.argv[1]
comm = chainermn.create_communicator("naive")
pure = chainermn.create_communicator("hierarchical")
rank, size = comm.rank, comm.size
assert (size, comm.intra_rank, comm.intra_size, comm.inter_rank, comm.inter_size) == (2, rank, 2, 0, 1)
assert type(pure).__name__ == "PureNcclCommunicator" and pure.rank == rank


def rows(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("f")


def raises(kind, call):
    try:
        call()
    except kind:
        return True
    raise AssertionError(f"expected {kind}")


def arrays():
    for dtype in ("int32", "int64", "float16", "float32", "float64"):
        x = np.full((rank + 1, 2), rank, dtype)
        parts = comm.allgather(x)
        assert [p.shape for p in parts] == [(1, 2), (2, 2)] and all(p.dtype == dtype for p in parts)
        assert parts[1].tolist() == [[1, 1]] * 2 and parts[rank] is not x
        total = comm.allreduce(np.full(3, rank + 1, dtype)[::-1])
        assert total.tolist() == [3] * 3 and total.dtype == dtype
    raises(TypeError, lambda: comm.allreduce(np.zeros(2 + rank, "f")))
    other = 1 - rank
    raises(ValueError, lambda: comm.send(np.zeros(1), rank, 0))
    raises(RuntimeError, lambda: comm.send(np.zeros(1), 2, 0))
    if rank == 0:
        for data in (np.array(3.0), [np.ones(2), np.zeros((2, 0))], [np.ones(1)]):
            comm.send(data, other, 5)
        comm.send_obj({"a": 1}, other, tag=9)
    else:
        assert comm.recv(other, 5).shape == ()
        assert [a.shape for a in comm.recv(other, 5)] == [(2,), (2, 0)]
        assert isinstance(comm.recv(other, 5), tuple)
        assert comm.recv_obj(other, tag=9) == {"a": 1}
    assert comm.allreduce_obj([rank]) == [0, 1] and comm.allreduce_obj(str(rank)) == "01"
    raises(TypeError, lambda: comm.allreduce_obj({}))
    alone = comm.split(rank, 0)
    assert alone.size == 1 and alone.allreduce(np.ones(1)).tolist() == [1]
    reverse = comm.split(0, -rank)
    assert reverse.rank == 1 - rank and reverse.bcast(np.array([rank])).tolist() == [1]


def arrays_without_axes():
    """They stay arrays in both directions."""
    assert isinstance(comm.scatter(np.ones(2)), np.ndarray)
    for communicate in (lambda x: MF.bcast(comm, x), lambda x: sum(MF.allgather(comm, x)), lambda x: MF.scatter(
            comm, [x, x])):  # fmt: skip
        x = chainer.Variable(np.array(2.0))
        y = communicate(x)
        assert isinstance(y.array, np.ndarray) and y.shape == ()
        (y * (rank + 1)).backward()
        assert x.grad is None or (type(x.grad), x.grad.shape, float(x.grad)) == (np.ndarray, (), 3), x.grad


def mpi():
    """`import mpi4py` finds the same processes."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    assert (world.rank, world.Get_size(), world.allreduce(rank, op=MPI.MAX)) == (rank, 2, 1)
    x = np.arange(3.0) * (rank + 1)
    world.Bcast(x, root=1)
    total = np.zeros(3)
    world.Allreduce(x, total)
    assert total.tolist() == [0, 4, 8] and world.scatter([5, 6] if rank == 0 else None) == 5 + rank
    status = MPI.Status()
    if rank == 0:
        world.send("a", 1, tag=3)
    else:
        assert world.recv(source=MPI.ANY_SOURCE, status=status) == "a" and status.Get_tag() == 3
    assert chainermn.create_communicator("naive", world.Split(0, -rank)).rank == 1 - rank
    assert not hasattr(world, "Create_intercomm") and raises(NotImplementedError, lambda: world.Create_intercomm)


def joined_batch(name, dtype, tolerance):
    """Two processes with a half of the batch each do what one process does with all of it."""
    c = chainermn.create_communicator(name)
    if dtype is not None:
        c.set_config("allreduce_grad_dtype", dtype)

    def model():
        return L.Classifier(chainer.Sequential(L.Linear(6, 5, initialW=rows(1, 5, 6)), F.relu, L.Linear(
            5, 3, initialW=rows(2, 3, 5))))  # fmt: skip

    one, many = model(), model()
    alone = chainer.optimizers.Adam(0.05).setup(one)
    together = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(0.05), c).setup(many)
    together.update(many, rows(0, 2, 6), np.zeros(2, "i"))  # the first call broadcasts
    for step in range(6):
        x, t = rows(10 + step, 8, 6), np.arange(8, dtype="i") % 3
        alone.update(one, x, t)
        part = slice(4 * rank, 4 * rank + 4)
        together.update(many, x[part], t[part])
    for (path, a), (_, b) in zip(sorted(one.namedparams()), sorted(many.namedparams()), strict=True):
        np.testing.assert_allclose(a.array, b.array, rtol=tolerance, atol=tolerance, err_msg=path)
    assert together.t == 6


def double_buffering():
    model = L.Linear(1, 1, initialW=0.0, nobias=True)
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(1), pure, double_buffering=True)
    optimizer.setup(model)
    seen = []
    for step in range(6):
        model.W.grad = np.array([[10.0**step * (1 + 2 * rank)]], "f")  # the mean is 2 * 10 ** step
        optimizer.update()
        seen.append(float(model.W.array[0, 0]))
    optimizer.wait()
    assert seen == [0, 0, -20, -220, -2220, -22220], seen


def second_derivatives():
    x = chainer.Variable(np.array([1.5, -2.0]) if rank == 0 else np.array([0.5, 3.0]))
    a, b = MF.allgather(comm, x)
    (gx,) = chainer.grad([F.sum(a * b * b)], [x], enable_double_backprop=True)
    F.sum(gx * gx).backward()
    a, b = a.array, b.array
    np.testing.assert_allclose(gx.array, 2 * b**2 if rank == 0 else 4 * a * b)
    np.testing.assert_allclose(x.grad, 32 * a * b**2 if rank == 0 else 16 * b**3 + 32 * a**2 * b)

    x = chainer.Variable(np.array([1.5, -2.0]))
    y = MF.bcast(comm, x if rank == 0 else None)
    # each rank starts backward from what it has
    inputs = [x] if rank == 0 else [y.creator_node.inputs[0].get_variable()]
    (gx,) = chainer.grad([F.sum(y**3)], inputs, enable_double_backprop=True)
    (F.sum(gx * gx) if rank == 0 else F.sum(gx)).backward()
    if rank == 0:
        np.testing.assert_allclose(gx.array, 6 * x.array**2)
        np.testing.assert_allclose(x.grad, 2 * 6 * x.array**2 * 12 * x.array)

    if rank == 0:
        sent = MF.send(x, comm, 1)
        sent.grad = np.zeros(0, "f")
        (gx,) = chainer.grad([sent], [x], enable_double_backprop=True)
        np.testing.assert_allclose(gx.array, 3 * x.array**2)
        x.cleargrad()
        F.sum(gx * gx).backward()
        sent.backward()
        np.testing.assert_allclose(x.grad, 36 * x.array**3)
    else:
        y = MF.recv(comm, 0)
        delegate = y.creator_node.inputs[0].get_variable()
        (g,) = chainer.grad([F.sum(y**3)], [delegate], enable_double_backprop=True)
        g.grad = np.zeros_like(g.array)
        g.backward()


def batch_normalization():
    x, gy = rows(3, 8, 3, 2).astype("d"), rows(4, 8, 3, 2).astype("d")
    gamma, part = np.array([1.0, 2.0, 3.0]), slice(4 * rank, 4 * rank + 4)
    with chainer.using_config("dtype", np.dtype("d")):
        link = ML.MultiNodeBatchNormalization(3, comm, initial_gamma=gamma)
        own, all_ = chainer.Variable(x[part]), chainer.Variable(x)
        expected = F.batch_normalization(all_, gamma, np.zeros(3))
        got = link(own)
    np.testing.assert_allclose(got.array, expected.array[part], rtol=1e-10, atol=1e-12)
    grads = []
    for y, v, g in ((got, own, gy[part]), (expected, all_, gy)):
        (gx,) = chainer.grad([y], [v], [chainer.Variable(g)], enable_double_backprop=True)
        F.sum(gx**3).backward()
        grads.append((gx.array, v.grad))
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b[part], rtol=1e-8, atol=1e-10)
    half = ML.MultiNodeBatchNormalization(3, comm)
    assert half(x[part].astype("e")).dtype == np.float16 and half.avg_mean.dtype == np.float32
    net = ML.create_mnbn_model(chainer.Sequential(L.Linear(2, 3), L.BatchNormalization(3)), comm)
    assert isinstance(net[1], ML.MultiNodeBatchNormalization) and net[1].comm is comm


def trainer(updates, out):
    model = L.Classifier(L.Linear(2, 2, initialW=rows(5 + rank, 2, 2)))
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm).setup(model)
    data = chainermn.scatter_dataset(
        [(rows(i, 2), np.int32(i % 2)) for i in range(16)] if rank == 0 else None, comm, shuffle=True, seed=1
    )
    iterator = chainer.iterators.SerialIterator(data, 2, shuffle=False)
    updater = chainer.training.StandardUpdater(iterator, optimizer)
    return chainer.training.Trainer(updater, (updates, "iteration"), out=out), model


def resuming():
    out = os.path.join(FOLDER, "checkpoints")
    first, model = trainer(6, out)
    saver = chainermn.create_multi_node_checkpointer("cp", comm, cp_interval=3)
    saver.finalize = lambda: None  # as if the program had crashed
    first.extend(saver, trigger=(2, "iteration"))
    first.extend(chainermn.extensions.ObservationAggregator(comm, "main/loss", "mean"))
    first.run()
    assert len(set(comm.mpi_comm.allgather(float(F.identity(first.observation["mean"]).array)))) == 1
    comm.mpi_comm.barrier()
    if rank == 1:
        os.remove(os.path.join(out, "cp.1.6"))  # rank 1 had not written its last one
    comm.mpi_comm.barrier()
    second, again = trainer(6, out)
    loader = chainermn.create_multi_node_checkpointer("cp", comm, cp_interval=3)
    second.extend(loader)
    loader.maybe_load(second, second.updater.get_optimizer("main"))
    assert second.updater.iteration == 4
    out = os.path.join(FOLDER, "snapshots")
    first, model = trainer(4, out)
    snapshot = extensions.snapshot(filename="snapshot", autoload=True)
    first.extend(chainermn.extensions.multi_node_snapshot(comm, snapshot, [[0, 1]]), trigger=(4, "iteration"))
    first.run()
    comm.mpi_comm.barrier()
    assert [name for name in os.listdir(out) if name.startswith("snapshot")] == ["snapshot.0"]
    second, again = trainer(4, out)
    snapshot = extensions.snapshot(filename="snapshot", autoload=True)
    second.extend(chainermn.extensions.multi_node_snapshot(comm, snapshot, [[0, 1]]), trigger=(9, "iteration"))
    second.run()
    assert second.updater.iteration == 4
    np.testing.assert_array_equal(again.predictor.W.array, model.predictor.W.array)


def mixed_precision():
    model = chainer.Chain(a=L.Linear(2, 2), b=L.Linear(2, 2))
    model.a.W.array = model.a.W.array.astype("e")
    for i, param in enumerate(model.params()):
        param.grad = np.full(param.shape, i + 2 * rank, param.dtype)
    before = [param.grad for param in model.params()]
    pure.set_config("allreduce_grad_dtype", "float16")
    pure.multi_node_mean_grad(model)
    pure.set_config("allreduce_grad_dtype", None)
    for i, (param, grad) in enumerate(zip(model.params(), before, strict=True)):
        assert param.grad is grad and grad.dtype == param.dtype and (grad == i + 1).all()
    reversed_ = np.arange(4.0, dtype="f")[::-1]
    model = L.Linear(4, 1, nobias=True)
    model.W.grad = (reversed_ * (rank + 1)).reshape(1, 4)[:, ::-1]
    comm.multi_node_mean_grad(model)
    assert model.W.grad.tolist() == [[0, 1.5, 3, 4.5]]


def recurrent_network():
    """The states of an LSTM go from rank 0 to rank 1; rank 0 gets their gradients, each the gradient of its state."""
    first, second = (L.NStepLSTM(2, 3, 3, 0.0) for _ in range(2))
    for i, param in enumerate((*first.params(), *second.params())):
        param.array[...] = rows(i, *param.shape)
        param.cleargrad()
    xs = [rows(100, 4, 3)]
    if rank == 0:
        *_, sent = ML.create_multi_node_n_step_rnn(first, comm, rank_out=1)(xs)
        sent.backward()
        got = [param.grad for param in first.params()]
        first.cleargrads()
        h, c, _ = first(None, None, xs)
        F.sum(second(h, c, xs)[2][0] ** 2).backward()
        for param, grad in zip(first.params(), got, strict=True):
            np.testing.assert_allclose(grad, param.grad, rtol=1e-5, atol=1e-7, err_msg=param.name)
    else:
        ys = ML.create_multi_node_n_step_rnn(second, comm, rank_in=0)(xs)[2]
        F.sum(ys[0] ** 2).backward()


arrays()
arrays_without_axes()
mpi()
joined_batch("naive", None, 1e-5)
joined_batch("pure_nccl", "float16", 2e-2)
double_buffering()
second_derivatives()
batch_normalization()
recurrent_network()
resuming()
mixed_precision()
print("done")
