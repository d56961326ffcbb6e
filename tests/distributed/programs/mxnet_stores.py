"""Run in two processes by `test_mxnet.py`: MXNet's stores `dist_sync`, and training that equals that of one process."""

import mxnet as mx
import numpy as np
from expecting import expect_error
from mxnet import autograd, gluon, nd

kv = mx.kv.create("dist_device_sync")
rank, size = kv.rank, kv.num_workers


def pulled(store, key, shape, dtype="float32"):
    out = nd.zeros(shape, dtype=dtype)
    store.pull(key, out=out)
    return out.asnumpy().tolist()


def test_sums():
    assert kv.type == "dist_device_sync" and size == 2
    kv.init(["a", "b"], [nd.ones(2) * (rank + 5), nd.zeros((1, 2), dtype="float16")])
    assert pulled(kv, "a", 2) == [5, 5]  # of process 0
    kv.push("a", [nd.ones(2), nd.ones(2) * (rank + 1)])  # of two devices
    assert pulled(kv, "a", 2) == [5, 5]  # a sum, never a mean, replaces the value
    out = nd.zeros((1, 2), dtype="float16")
    kv.pushpull("b", nd.ones((1, 2), dtype="float16") * rank, out=out)
    assert out.asnumpy().tolist() == [[1, 1]] and out.dtype == np.float16
    expect_error(mx.MXNetError, "duplicate init", kv.init, "a", nd.ones(2))
    expect_error(mx.MXNetError, "has not been inited", kv.push, "c", nd.ones(2))
    expect_error(mx.MXNetError, "ignore_sparse", kv.pull, "a", out=out, ignore_sparse=False)
    expect_error(RuntimeError, "different keys or arrays", kv.push, "a" if rank else "b", nd.ones((1, 2)))
    expect_error(
        mx.MXNetError, "key a holds float32 of shape (2,), got float32 of shape (3,)", kv.push, "a", nd.ones(3)
    )
    expect_error(mx.MXNetError, "got float64 of shape (2,)", kv.push, "a", nd.ones(2, dtype="float64"))
    expect_error(mx.MXNetError, "'dist_sync'", mx.kv.create, "dist_async")
    kv._barrier()


def test_optimizer_of_one_process():
    """One process sets the optimizer; all get a copy, and momentum counts."""
    store = mx.kv.create("dist_sync")
    store.init(1, nd.zeros(2))
    if rank == 1:
        optimizer = mx.optimizer.SGD(learning_rate=0.5, momentum=0.5)
        store.set_optimizer(optimizer)
        optimizer.lr = 100
    for _ in range(2):
        store.push(1, nd.ones(2) * (rank + 1))
    assert pulled(store, 1, 2) == [-3.75, -3.75]
    expect_error(AssertionError, "distributed training", store.save_optimizer_states, "states")


def test_half_precision():
    """The optimizer works in float32 where it is told so."""
    store = mx.kv.create("dist_sync")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, multi_precision=True))
    store.init(1, nd.ones(1, dtype="float16") * 2048)
    for _ in range(4):
        store.push(1, nd.ones(1, dtype="float16") * -0.25)
    assert pulled(store, 1, 1, "float16") == [2050]


def test_random_optimizer():
    """An optimizer that draws random numbers leaves the same values in all processes."""
    store = mx.kv.create("dist_sync")
    mx.random.seed(rank)
    store.init(1, nd.zeros(3))
    store.set_optimizer(mx.optimizer.SGLD(learning_rate=0.1))
    store.push(1, nd.ones(3))
    mine = nd.array(pulled(store, 1, 3))
    others = mx.kv.create("dist_sync")
    others.init(1, nd.zeros(3))
    others.push(1, mine)
    assert np.allclose(pulled(others, 1, 3), 2 * mine.asnumpy()) and abs(mine.asnumpy()).sum() > 0


def test_row_sparse():
    store = mx.kv.create("dist_sync")
    store.init("w", nd.ones((4, 2)).tostype("row_sparse"))
    store.set_optimizer(mx.optimizer.create("test", rescale_grad=2))
    gradient = nd.sparse.row_sparse_array(([[1, 1], [1, 1]], [0, rank + 1]), shape=(4, 2))
    store.push("w", gradient)
    out = nd.sparse.zeros("row_sparse", (4, 2))
    store.row_sparse_pull("w", out=out, row_ids=nd.array([0, 2]))
    assert out.asnumpy().tolist() == [[5, 5], [0, 0], [3, 3], [0, 0]]
    store.row_sparse_pull("w", out=out, row_ids=nd.array([]))
    assert not out.asnumpy().any()


def test_compression():
    """Two bits for each number, and what is lost is sent later."""
    store = mx.kv.create("dist_sync")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init(1, nd.ones(5))
    assert pulled(store, 1, 5) == [1] * 5
    gradient = nd.array([0.2, 0.3, -0.6, 0.9, 0.0]) * (1 if rank else -1)
    seen = []
    for _ in range(3):
        store.push(1, gradient if rank else nd.zeros(5))
        seen.append(pulled(store, 1, 5))
    assert seen == [[0, 0, -0.5, 0.5, 0], [0, 0.5, -0.5, 0.5, 0], [0.5, 0, -0.5, 0.5, 0]]
    expect_error(mx.MXNetError, "float32", store.push, 1, nd.ones(5, dtype="float64"))
    expect_error(mx.MXNetError, "1bit", store.set_gradient_compression, {"type": "1bit"})
    expect_error(mx.MXNetError, "not supported", mx.kv.create("local").set_gradient_compression, {"type": "2bit"})


def data():
    random = np.random.RandomState(0)
    return random.randn(8, 5).astype("f"), random.randn(8, 1).astype("f")


def trained(rows, store, **options):
    """Losses and parameters after some steps of Gluon, from the same start."""
    x, t = (nd.array(a[rows]) for a in data())
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(6, activation="tanh", in_units=5), gluon.nn.Dense(1, in_units=6))
    net.initialize(mx.init.Xavier(), force_reinit=True)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=store, **options)
    losses = []
    for _ in range(5):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), t)
        loss.backward()
        trainer.step(8)  # of all processes
        losses.append(float(loss.mean().asscalar()))
    return losses, [p.data().asnumpy() for p in net.collect_params().values()], trainer


def test_gluon_trainer():
    """The same parameters as one process with the joined batch, whether the store runs the optimizer or not."""
    mine = slice(4 * rank, 4 * rank + 4)
    _, expected, _ = trained(slice(None), None)
    for on_store in (True, False):
        losses, found, trainer = trained(mine, "dist_sync", update_on_kvstore=on_store)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    expect_error(UserWarning, "batch_size", trained(mine, "dist_sync")[2].step, 4)
    trainer = trained(mine, "dist_sync", update_on_kvstore=False)[2]
    trainer.allreduce_grads()
    trainer.update(3, ignore_stale_grad=True)


def test_module():
    """Module divides by the number of all examples."""

    def fitted(rows, store):
        x, t = (a[rows] for a in data())
        symbol = mx.sym.LinearRegressionOutput(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"), mx.sym.var("label"), name="out"
        )
        module = mx.mod.Module(symbol, label_names=["label"])
        module.fit(
            mx.io.NDArrayIter(x, t, batch_size=len(x), label_name="label"),
            num_epoch=3, kvstore=store, optimizer="sgd", optimizer_params={"learning_rate": 0.1, "momentum": 0.5},
            initializer=mx.init.Constant(0.1), eval_metric="mse",
        )  # fmt: skip
        return {name: a.asnumpy() for name, a in module.get_params()[0].items()}

    expected, found = fitted(slice(None), "local"), fitted(slice(4 * rank, 4 * rank + 4), "dist_sync")
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        if rank == 0:
            print(name)
