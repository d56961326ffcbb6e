"""Parameters, Trainer and stores."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd
from compatgrad.mxnet.gluon import nn


def parameter(name="x", shape=(3,), ctx=None, **kwargs):
    param = gluon.Parameter(name, shape=shape, **kwargs)
    param.initialize(mx.init.One(), ctx=ctx)
    return param


def backward(param, factor=2):
    """A gradient of `factor` everywhere, on all contexts."""
    for array in param.list_data():
        with autograd.record():
            y = (array * factor).sum()
        y.backward()


# ---- parameters ----


def test_initialize_twice_warns():
    param = parameter()
    with pytest.warns(UserWarning, match="already initialized"):
        param.initialize(mx.init.Zero())
    assert param.data().asnumpy().sum() == 3
    param.initialize(mx.init.Zero(), force_reinit=True)
    assert param.data().asnumpy().sum() == 0


def test_initializers_by_kind_of_parameter_and_own():
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2, weight_initializer="ones", bias_initializer=mx.init.Constant(3)))
    net.add(nn.Dense(2, in_units=2), nn.BatchNorm(in_channels=2))
    net.initialize(mx.init.Constant(5))
    values = [p.data().asnumpy().flat[0] for p in net.collect_params().values()]
    assert values == [1, 3, 5, 0, 1, 0, 0, 1]


def test_grad_req_can_change():
    param = parameter()
    backward(param)
    np.testing.assert_array_equal(param.grad().asnumpy(), [2, 2, 2])
    param.grad_req = "add"
    backward(param)
    backward(param)
    np.testing.assert_array_equal(param.grad().asnumpy(), [4, 4, 4])
    param.zero_grad()
    np.testing.assert_array_equal(param.grad().asnumpy(), [0, 0, 0])
    param.grad_req = "null"
    with pytest.raises(RuntimeError, match="grad_req='null'"):
        param.grad()
    with pytest.raises(mx.MXNetError):
        backward(param)


def test_the_gradient_array_is_the_one_backward_writes():
    param = parameter()
    grad = param.grad()
    backward(param)
    np.testing.assert_array_equal(grad.asnumpy(), [2, 2, 2])
    grad[:] = 5
    np.testing.assert_array_equal(param.grad().asnumpy(), [5, 5, 5])
    np.testing.assert_array_equal(param.data().grad.asnumpy(), [5, 5, 5])


def test_constants_are_not_trained():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.c = self.params.get_constant("c", [[1.0, 2.0]])
            self.w = self.params.get("w", shape=(1, 2), init="ones")

        def hybrid_forward(self, F, x, c, w):
            return F.broadcast_mul(x, c) * w

    net = Net()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        y = net(nd.ones((1, 2)))
    y.backward()
    trainer.step(1)
    np.testing.assert_array_equal(net.c.data().asnumpy(), [[1, 2]])
    np.testing.assert_array_equal(net.w.data().asnumpy(), [[0, -1]])
    with pytest.warns(UserWarning, match="does not support grad_req"):
        net.c.grad_req = "write"
    assert net.params.get_constant("c") is net.c
    with pytest.raises(AssertionError, match="doesn't match"):
        net.params.get_constant("c", [[1.0, 3.0]])


def test_parameter_dict():
    group, other = gluon.ParameterDict("a_"), gluon.ParameterDict("a_")
    w = group.get("w", shape=(2,))
    assert group.get("w") is w and group["a_w"] is w and "a_w" in group
    other.get("w", shape=(2,))
    with pytest.raises(AssertionError, match="same name 'a_w'"):
        group.update(other)
    group.setattr("lr_mult", 0.5)
    assert w.lr_mult == 0.5
    group.initialize(ctx=[mx.cpu(1), mx.cpu(0)])
    assert set(group.list_ctx()) == {mx.cpu(0), mx.cpu(1)}
    shared = gluon.ParameterDict("a_", shared=group)
    assert shared.get("w") is w


def test_blocks_can_be_copied_and_pickled():
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2))
    net.initialize()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(other[0].weight.data().asnumpy(), net[0].weight.data().asnumpy())
        other[0].weight.set_data(nd.zeros((2, 2)))
        assert net[0].weight.data().asnumpy().any()


# ---- Trainer ----


def test_step_divides_by_the_batch_size_and_knows_multipliers():
    param = parameter()
    param.lr_mult = 0.5
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    assert trainer.learning_rate == 1.0
    backward(param)
    trainer.step(2)
    np.testing.assert_array_equal(param.data().asnumpy(), [0.5] * 3)
    trainer.set_learning_rate(2.0)
    backward(param)
    trainer.step(2)
    np.testing.assert_array_equal(param.data().asnumpy(), [-0.5] * 3)


def test_stale_gradients():
    a, b = parameter("a"), parameter("b")
    trainer = gluon.Trainer({"a": a, "b": b}, "sgd", {"learning_rate": 1.0})
    backward(a)
    backward(b)
    trainer.step(1)
    backward(a)
    with pytest.raises(UserWarning, match="Gradient of Parameter `b` on context cpu.0. has not been updated"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    np.testing.assert_array_equal(a.data().asnumpy(), [-3] * 3)
    np.testing.assert_array_equal(b.data().asnumpy(), [-1] * 3)


def test_trainer_sees_arrays_that_change():
    param = parameter()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0, "momentum": 0.5})
    for expected in (-1, -4):
        backward(param)
        trainer.step(1)
        np.testing.assert_array_equal(param.data().asnumpy(), [expected] * 3)
    param.initialize(mx.init.One(), force_reinit=True)
    param.grad_req = "add"
    backward(param)
    trainer.step(1)
    np.testing.assert_array_equal(param.data().asnumpy(), [1 - 3.5] * 3)
    param.grad_req = "null"
    trainer.step(1)


@pytest.mark.parametrize("kvstore", ["local", "device", None, "teststore"])
@pytest.mark.parametrize("on_store", [None, False])
def test_contexts_are_added_up(kvstore, on_store):
    param = parameter(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer(
        [param], "sgd", {"learning_rate": 1.0, "momentum": 0.5}, kvstore=kvstore, update_on_kvstore=on_store
    )
    for _ in range(2):
        backward(param)
        trainer.step(1)
    expected = 1 - 4 - 6 if kvstore else 1 - 2 - 3
    for array in param.list_data():
        np.testing.assert_array_equal(array.asnumpy(), [expected] * 3)


def test_allreduce_and_update():
    param = parameter(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0}, update_on_kvstore=False)
    backward(param)
    trainer.allreduce_grads()
    for grad in param.list_grad():
        np.testing.assert_array_equal(grad.asnumpy(), [4] * 3)
        grad[:] = 1
    trainer.update(1)
    np.testing.assert_array_equal(param.data(mx.cpu(1)).asnumpy(), [0] * 3)
    on_store = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    backward(param)
    for method, args in (("allreduce_grads", ()), ("update", (1,))):
        with pytest.raises(AssertionError, match=method):
            getattr(on_store, method)(*args)


def test_set_data_reaches_the_store():
    param = parameter(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    backward(param)
    trainer.step(1)
    param.set_data(nd.array([10, 10, 10]))
    backward(param)
    trainer.step(1)
    np.testing.assert_array_equal(param.data(mx.cpu(1)).asnumpy(), [6] * 3)


@pytest.mark.parametrize("contexts", [1, 2])
def test_states_are_saved(tmp_path, contexts):
    file = str(tmp_path / "states")
    param = parameter(ctx=[mx.cpu(i) for i in range(contexts)])
    options = {"learning_rate": 1.0, "momentum": 0.5}
    trainer = gluon.Trainer([param], "sgd", options)
    backward(param)
    trainer.step(1)
    trainer.save_states(file)
    backward(param)
    trainer.step(1)
    expected = param.data(mx.cpu()).asnumpy()
    param.set_data(nd.full((3,), 1 - 2 * contexts))
    other = gluon.Trainer([param], "sgd", {"learning_rate": 0.1, "momentum": 0.1})
    other.load_states(file)
    assert other.learning_rate == 1.0
    backward(param)
    other.step(1)
    np.testing.assert_array_equal(param.data(mx.cpu()).asnumpy(), expected)


def test_a_scheduler_owns_the_rate():
    param = parameter()
    scheduler = mx.lr_scheduler.FactorScheduler(1, factor=0.1, base_lr=1)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1, "lr_scheduler": scheduler})
    with pytest.raises(UserWarning):
        trainer.set_learning_rate(3)
    for _ in range(4):
        backward(param)
        trainer.step(1)
    np.testing.assert_allclose(trainer.learning_rate, 1e-3)


def test_optimizer_objects():
    param = parameter()
    with pytest.raises(AssertionError, match="optimizer_params"):
        gluon.Trainer([param], mx.optimizer.SGD(), {"learning_rate": 1})
    trainer = gluon.Trainer([param], mx.optimizer.SGD(learning_rate=0.5))
    assert trainer.optimizer.learning_rate == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backward(param)
        trainer.step(1)
    np.testing.assert_array_equal(param.data().asnumpy(), [0] * 3)


def test_clip_global_norm():
    arrays = [nd.ones((3, 3)), nd.ones((4, 4)), nd.ones((2,), dtype="float64")]
    assert gluon.utils.clip_global_norm(arrays, 1.0) == pytest.approx(np.sqrt(27))
    np.testing.assert_allclose(arrays[1].asnumpy(), np.full((4, 4), 1 / np.sqrt(27)), rtol=1e-5)
    small = nd.ones((2,))
    assert isinstance(gluon.utils.clip_global_norm([small], 3.0, check_isfinite=False), nd.NDArray)
    np.testing.assert_array_equal(small.asnumpy(), [1, 1])
    with pytest.warns(UserWarning, match="nan or inf"):
        gluon.utils.clip_global_norm([nd.array([np.inf])], 1.0)


def test_clipped_arrays_are_the_same_whether_the_norm_is_read_or_not():
    random = np.random.RandomState(0)
    for scale in (1e-3, 1.0, 1e3, np.inf, np.nan):
        given = [random.rand(5) * scale, random.rand(2, 3) * scale]
        both = [[nd.array(x, dtype=t) for x in given for t in ("float16", "float32", "float64")] for _ in range(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            norm = gluon.utils.clip_global_norm(both[0], 2.5)
        assert norm.dtype == np.float32
        np.testing.assert_array_equal(gluon.utils.clip_global_norm(both[1], 2.5, check_isfinite=False).asscalar(), norm)
        for read, unread in zip(*both, strict=True):
            np.testing.assert_array_equal(read.asnumpy(), unread.asnumpy(), strict=True)


def test_clipping_an_array_that_is_not_writable_changes_none():
    arrays = [nd.ones(2) * 9, nd.NDArray(nd.ones(2).tensor, writable=False)]
    for read in (True, False):
        with pytest.raises(ValueError, match="readonly"):
            gluon.utils.clip_global_norm(arrays, 1.0, check_isfinite=read)
    assert [x.asnumpy().tolist() for x in arrays] == [[9, 9], [1, 1]]


# ---- stores ----


def test_store_replaces_or_updates():
    store = mx.kv.create("local")
    store.init(3, nd.ones((2,)))
    out = nd.zeros((2,))
    store.push(3, [nd.ones((2,)) * 4, nd.ones((2,), ctx=mx.cpu(1))])
    store.pull(3, out=out)
    np.testing.assert_array_equal(out.asnumpy(), [5, 5])
    store._set_updater(lambda key, pushed, stored: stored.__iadd__(pushed * 2))
    store.push(3, nd.ones((2,)))
    outs = [out, nd.zeros((2,), ctx=mx.cpu(1))]
    store.pull(3, out=outs)
    assert [list(o.asnumpy()) for o in outs] == [[7, 7], [7, 7]]
    assert (store.rank, store.num_workers, store.type) == (0, 1, "local")


def test_store_takes_lists_of_keys():
    store = mx.kv.create("device")
    keys = ["a", "b"]
    store.init(keys, [nd.ones((2,)), nd.zeros((3,))])
    outs = [nd.zeros((2,)), nd.ones((3,))]
    store.pull(keys, out=outs)
    assert outs[0].asnumpy().sum() == 2 and outs[1].asnumpy().sum() == 0
    store.pushpull(keys, [[nd.ones((2,))] * 2, [nd.ones((3,))]], out=outs)
    assert outs[0].asnumpy().sum() == 4 and outs[1].asnumpy().sum() == 3


def test_store_errors():
    store = mx.kv.create()
    store.init(1, nd.ones((2,)))
    with pytest.raises(mx.MXNetError, match="duplicate init of key 1"):
        store.init(1, nd.ones((2,)))
    with pytest.raises(mx.MXNetError, match="key 9 has not been inited"):
        store.pull(9, out=nd.ones((2,)))
    with pytest.raises(mx.MXNetError, match="Mixed key types"):
        store.push("a", nd.ones((2,)))
    with pytest.raises(mx.MXNetError, match="dist_sync"):
        mx.kv.create("dist_async")
    with pytest.raises(mx.MXNetError, match="nowhere"):
        mx.kv.create("nowhere")
    with pytest.raises(TypeError, match="name must be a string"):
        mx.kv.create(3)
    with pytest.raises(ValueError, match="Unknown capability"):
        store.is_capable("speed")


def test_row_sparse_values_are_read_by_rows():
    store = mx.kv.create("local")
    store.init("w", nd.array([[1, 1], [2, 2], [3, 3]]).tostype("row_sparse"))
    out = nd.zeros((3, 2)).tostype("row_sparse")
    store.pull("w", out=out)
    assert not out.asnumpy().any()
    store.row_sparse_pull("w", out=out, row_ids=nd.array([0, 2]))
    np.testing.assert_array_equal(out.asnumpy(), [[1, 1], [0, 0], [3, 3]])
    with pytest.raises(mx.MXNetError, match="row_sparse"):
        store.row_sparse_pull("w", out=nd.zeros((3, 2)), row_ids=nd.array([0]))


@pytest.mark.parametrize("layer", ["SparseEmbedding", "Embedding"])
def test_sparse_gradients_train(layer):
    if layer == "Embedding":
        net = nn.Embedding(5, 2, sparse_grad=True, weight_initializer="ones")
    else:
        net = gluon.contrib.nn.SparseEmbedding(5, 2, weight_initializer="ones")
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        y = net(nd.array([1, 3, 3])).sum()
    y.backward()
    assert net.weight.grad().stype == "row_sparse"
    trainer.step(1)
    expected = np.ones((5, 2)) - np.array([0, 1, 0, 2, 0])[:, None]
    rows = nd.arange(5)
    value = net.weight.data() if layer == "Embedding" else net.weight.row_sparse_data(rows)
    np.testing.assert_array_equal(value.asnumpy(), expected)


def test_download_goes_through_requests_where_programs_have_it(monkeypatch, tmp_path):
    class Answer:
        status_code = 200

        def iter_content(self, chunk_size):
            return iter([b"ab", b"c"])

    asked = []

    class Requests:
        @staticmethod
        def get(url, stream, verify):
            asked.append((url, verify))
            return Answer()

    monkeypatch.setitem(__import__("sys").modules, "requests", Requests)
    target = str(tmp_path / "page")
    with pytest.warns(UserWarning, match="Unverified HTTPS"):
        assert gluon.utils.download("http://nowhere.invalid/page", target, verify_ssl=False) == target
    assert asked == [("http://nowhere.invalid/page", False)] and (tmp_path / "page").read_bytes() == b"abc"
    assert [p.name for p in tmp_path.iterdir()] == ["page"]
    Answer.status_code = 404
    with pytest.raises(RuntimeError, match="Failed downloading"):
        gluon.utils.download("http://nowhere.invalid/other", target, overwrite=True, retries=0)


# ---- arrays that programs put in the place of a parameter's own ----


def trained(hybrid=False):
    """A layer with weight [0.5, 0] after its only update, by the gradient [1, 2], and its Trainer."""
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.Constant(nd.array([[0.6, 0.2]])))
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        loss = net(nd.array([[1, 2]])).sum()
    loss.backward()
    trainer.step(1)
    return net, trainer


@pytest.mark.parametrize("whole", [False, True])
def test_trainer_uses_gradients_that_replaced_its_own(whole):
    net, trainer = trained()
    gradients = [nd.array([[5, 5]])]
    if whole:
        net.weight._grad = gradients
    else:
        net.weight._grad[0] = gradients[0]
    net.weight._data[0]._fresh_grad = 1
    trainer.step(1)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[0, -0.5]], atol=1e-7)
    assert net.weight.grad() is gradients[0]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_layers_and_trainer_use_data_that_replaced_their_own(whole, hybrid):
    net, trainer = trained(hybrid)
    value = nd.array([[7, 7]])
    value.attach_grad()
    if whole:
        net.weight._data = [value]
    else:
        net.weight._data[0] = value
    with autograd.record():
        loss = net(nd.array([[1, 2]])).sum()
    loss.backward()
    assert loss.asscalar() == 21
    net.weight.list_grad()[0] = value.grad * 10
    trainer.step(1)
    np.testing.assert_allclose(value.asnumpy(), [[6, 5]], atol=1e-6)
    assert net.weight.data() is value


def test_trainer_without_parameters():
    """As in MXNet, which then has no context to loop over."""
    for params in ([], {}, nn.Sequential().collect_params()):
        with pytest.raises(TypeError, match="params holds no Parameter"):
            gluon.Trainer(params, "sgd")
