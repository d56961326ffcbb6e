"""Run in two processes by `test_mxnet.py`: Horovod for MXNet, and training that equals that of one process."""

import horovod.mxnet as hvd
import mxnet as mx
import numpy as np
from expecting import expect_error
from mxnet import autograd, gluon, nd

hvd.init()
hvd.init()
rank, size = hvd.rank(), hvd.size()


def test_collectives():
    assert (size, hvd.local_size(), hvd.local_rank(), hvd.cross_size(), hvd.cross_rank()) == (2, 2, rank, 1, 0)
    x = nd.array([1 + rank, 2 + 2 * rank], ctx=mx.cpu(rank))
    y = hvd.allreduce(x)
    assert y.asnumpy().tolist() == [1.5, 3] and y.context == x.context and x.asnumpy()[0] == rank + 1
    assert hvd.allreduce(x, average=False).asnumpy().tolist() == [3, 6]
    assert hvd.allreduce(x, op=hvd.Max, prescale_factor=2, postscale_factor=0.5).asnumpy().tolist() == [2, 4]
    n = nd.array([3, 5], dtype="int64")
    assert hvd.allreduce_(n).asnumpy().tolist() == [3, 5] and n.dtype == np.int64
    a, b = hvd.grouped_allreduce([x, n], op=hvd.Sum)
    assert a.asnumpy().tolist() == [3, 6] and b.asnumpy().tolist() == [6, 10]
    rows = nd.ones((rank + 1, 2)) * rank
    assert hvd.allgather(rows).asnumpy().tolist() == [[0, 0], [1, 1], [1, 1]]
    z = nd.array([rank])
    assert hvd.broadcast(z, 1).asscalar() == 1 and z.asscalar() == rank
    hvd.broadcast_(z, 1)
    assert z.asscalar() == 1
    joined, counts = hvd.alltoall(nd.arange(3) + 10 * rank, splits=[1, 2])
    assert joined.asnumpy().tolist() == ([0, 10] if rank == 0 else [1, 2, 11, 12])
    assert counts.asnumpy().tolist() == [rank + 1] * 2
    assert hvd.reducescatter(nd.arange(3), op=hvd.Sum).asnumpy().tolist() == ([0, 2] if rank == 0 else [4])
    assert hvd.broadcast_object({"rank": rank}, 1) == {"rank": 1} and hvd.allgather_object(rank) == [0, 1]
    y = hvd.allreduce(mx.np.ones(2))
    assert type(y) is type(mx.np.ones(2))


def test_errors():
    """What differs between processes is an error in all of them."""
    expect_error(mx.MXNetError, "rank 1: no name, [((3,), 'torch.float32')]", hvd.allreduce, nd.ones(2 + rank))
    expect_error(mx.MXNetError, "name 'b'", hvd.allreduce, nd.ones(2), name="ab"[rank])
    expect_error(mx.MXNetError, "int32", hvd.allreduce, nd.ones(2, dtype=["float32", "int32"][rank]))
    expect_error(mx.MXNetError, "op Sum, factors 1 and 1", hvd.allreduce, nd.ones(2), op=[hvd.Sum, hvd.Average][rank])
    expect_error(mx.MXNetError, "factors 2 and 1", hvd.allreduce, nd.ones(2), prescale_factor=2 - rank)
    expect_error(mx.MXNetError, "different root ranks: [0, 1]", hvd.broadcast, nd.ones(2), rank)
    expect_error(mx.MXNetError, "multiple of the 2 processes", hvd.alltoall, nd.ones(2 + rank))
    expect_error(ValueError, "only one of them", hvd.allreduce, nd.ones(2), average=True, op=hvd.Sum)
    expect_error(RuntimeError, "called hvd.", hvd.allgather if rank else hvd.allreduce, nd.ones(2))
    assert hvd.allreduce(nd.ones(1)).asscalar() == 1


def test_process_sets():
    first, second = hvd.add_process_set([0]), hvd.add_process_set(hvd.ProcessSet([1]))
    own, other = (second, first) if rank else (first, second)
    assert (own.size(), own.rank(), own.included(), other.included()) == (1, 0, True, False)
    assert hvd.allreduce(nd.ones(1) * rank, op=hvd.Sum, process_set=own).asscalar() == rank
    expect_error(ValueError, "is not in", hvd.allreduce, nd.ones(1), process_set=other)
    expect_error(ValueError, "duplicate", hvd.add_process_set, [1])
    assert hvd.remove_process_set(first) and hvd.remove_process_set(second) and first.size() is None
    assert not hvd.remove_process_set(hvd.global_process_set)


def network():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(6, activation="tanh"), gluon.nn.Dense(1))  # of unknown input sizes
    net.initialize(mx.init.Xavier())
    return net


def data():
    random = np.random.RandomState(0)
    return nd.array(random.randn(8, 5)), nd.array(random.randn(8, 1))


def trained(make, rows, net):
    x, t = (a[rows] for a in data())
    trainer = make(net.collect_params())
    losses = []
    for _ in range(5):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), t)
        loss.backward()
        trainer.step(len(x))  # of this process
        losses.append(float(loss.mean().asscalar()))
    return losses, [p.data().asnumpy() for p in net.collect_params().values()]


def test_trainer():
    mine = slice(4 * rank, 4 * rank + 4)
    options = {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}
    for compression, tolerance in ((hvd.Compression.none, 1e-5), (hvd.Compression.fp16, 3e-3)):
        mx.random.seed(7)
        losses, expected = trained(lambda ps: gluon.Trainer(ps, "sgd", options), slice(None), network())
        mx.random.seed(7 if rank == 0 else 8)
        net = network()
        hvd.broadcast_parameters(net.collect_params())  # sent when their shapes are known
        found_losses, found = trained(
            lambda ps, c=compression: hvd.DistributedTrainer(
                ps, "sgd", options, compression=c, gradient_predivide_factor=2.0
            ),
            mine, net,
        )  # fmt: skip
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        mean = hvd.allreduce(nd.array(found_losses)).asnumpy()
        np.testing.assert_allclose(mean, losses, rtol=tolerance)


def test_optimizer_in_module():
    def fitted(rows, optimizer):
        x, t = (a.asnumpy()[rows] for a in data())
        symbol = mx.sym.LinearRegressionOutput(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"), mx.sym.var("label"), name="out"
        )
        module = mx.mod.Module(symbol, label_names=["label"])
        module.fit(
            mx.io.NDArrayIter(x, t, batch_size=len(x), label_name="label"), num_epoch=3, kvstore=None,
            optimizer=optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.5, rescale_grad=1 / len(x))),
            initializer=mx.init.Constant(0.1), eval_metric="mse",
        )  # fmt: skip
        return module.get_params()[0]

    expected = fitted(slice(None), lambda o: o)
    found = fitted(slice(4 * rank, 4 * rank + 4), hvd.DistributedOptimizer)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=1e-6)


def test_shutdown():
    hvd.shutdown()
    expect_error(ValueError, "not been initialized", hvd.rank)
    hvd.init()
    assert hvd.rank() == rank


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        if rank == 0:
            print(name)
