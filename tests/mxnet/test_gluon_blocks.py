"""Blocks: names, parameters, deferred shapes, hooks, files."""

import warnings

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd
from compatgrad.mxnet.gluon import nn


@pytest.fixture(autouse=True)
def own_names():
    with mx.name.NameManager():
        yield


def array(*shape, seed=0):
    return nd.array(np.random.RandomState(seed).uniform(-1, 1, shape))


class Own(gluon.HybridBlock):
    """A block with its own parameters, whose forward is `body(F, x, **params)`."""

    def __init__(self, body, **shapes):
        super().__init__()
        self._body = body
        with self.name_scope():
            for name, shape in shapes.items():
                setattr(self, name, self.params.get(name, shape=shape, init=mx.init.One(), allow_deferred_init=True))

    def hybrid_forward(self, F, x, **params):
        return self._body(F, x, **params)


# ---- names ----


def test_children_made_in_a_name_scope_are_counted_there():
    class Net(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a = nn.Dense(2)
                self.b = nn.Dense(2, prefix="mine_")
            self.c = nn.Dense(2)

    assert list(Net().collect_params()) == [
        "net0_dense0_weight",
        "net0_dense0_bias",
        "net0_mine_weight",
        "net0_mine_bias",
        "dense0_weight",
        "dense0_bias",
    ]
    assert Net(prefix="").a.name == "dense1"
    assert Net(prefix="x_").a.name == "x_dense0"
    with mx.name.Prefix("outer_"):
        assert nn.Dense(1).name == "outer_dense0"


def test_attr_scope():
    with mx.attribute.AttrScope(group="4", data="great"):
        with mx.attribute.AttrScope(data="best") as scope:
            assert scope.get({"force_mirroring": "True"}) == {"group": "4", "data": "best", "force_mirroring": "True"}
    with pytest.raises(ValueError, match="string"):
        mx.attribute.AttrScope(x=3)


def test_shared_parameters_are_one():
    class Net(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.dense0 = nn.Dense(5, in_units=5)
                self.dense1 = nn.Dense(5, in_units=5)

        def forward(self, x):
            return self.dense1(self.dense0(x))

    first = Net(prefix="net1_")
    second = Net(prefix="net2_", params=first.collect_params())
    first.collect_params().initialize()
    second(nd.zeros((3, 5)))
    assert second.dense0.weight is first.dense0.weight
    third = Net(prefix="net3_", params=first.params)
    with pytest.raises(RuntimeError, match="not been initialized"):
        third(nd.zeros((3, 5)))


def test_children_in_lists_cause_a_warning():
    class Net(gluon.Block):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Dense(2)]
            self.more = {"a": [nn.Dense(3)]}

    net = Net()
    with pytest.warns(UserWarning) as found:
        assert list(net.collect_params()) == []
    assert [str(w.message).split()[0] for w in found] == ['"Net.layers"', '"Net.more"']
    net.register_child(net.layers[0])
    net.register_child(net.more["a"][0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(net.collect_params())) == 4


def test_attributes_keep_their_kind():
    net = nn.HybridSequential()
    net.layer = nn.Dense(2)
    with pytest.raises(TypeError, match="Changing attribute type for layer"):
        net.layer = 3
    net.layer = nn.Dense(3)
    assert list(net._children) == ["layer"]
    with pytest.raises(AssertionError, match="weight"):
        net.layer.weight = gluon.Parameter("other")


# ---- deferred shapes ----


@pytest.mark.parametrize(
    "body, shapes, expected",
    [
        (
            lambda F, x, w, b: F.FullyConnected(x, w, b, num_hidden=4),
            {"w": (4, 0), "b": (0,)},
            {"w": (4, 15), "b": (4,)},
        ),
        (
            lambda F, x, w: F.FullyConnected(x, weight=w, no_bias=True, flatten=False, num_hidden=4),
            {"w": (0, 0)},
            {"w": (4, 5)},
        ),
        (lambda F, x, w: x * w + 1, {"w": (0, 0, 0)}, {"w": (2, 3, 5)}),
        (lambda F, x, w: F.elemwise_add(w, x), {"w": (0, 3, 0)}, {"w": (2, 3, 5)}),
        (
            lambda F, x, w: F.Convolution(x, w, kernel=(3,), num_filter=4, no_bias=True),
            {"w": (4, 0, 3)},
            {"w": (4, 3, 3)},
        ),
        (lambda F, x, g, b: F.LayerNorm(x, g, b), {"g": (0,), "b": (0,)}, {"g": (5,), "b": (5,)}),
        (lambda F, x, w: F.LeakyReLU(x, gamma=w, act_type="prelu"), {"w": (0,)}, {"w": (3,)}),
    ],
    ids=["fc", "fc_last", "arithmetic", "elemwise", "conv", "layernorm", "prelu"],
)
def test_operators_infer_shapes_of_a_blocks_parameters(body, shapes, expected):
    net = Own(body, **shapes)
    net.initialize()
    y = net(array(2, 3, 5))
    assert {name: param.shape for name, param in net._reg_params.items()} == expected
    assert y.shape[0] == 2 and net.params["own0_" + next(iter(shapes))].data().shape == next(iter(expected.values()))


def test_a_shape_that_no_operator_infers_is_an_error():
    net = Own(lambda F, x, w: F.dot(x, w), w=(3, 0))
    net.initialize()
    with pytest.raises(ValueError, match="(?s)Deferred initialization failed.*own0_w"):
        net(array(2, 3))


def test_unused_parameters_do_not_matter():
    net = Own(lambda F, x, w, c: x + w, w=(0, 0), c=(2,))
    net.initialize()
    np.testing.assert_array_equal(net(nd.zeros((2, 3))).asnumpy(), np.ones((2, 3)))


def test_infer_shape_of_a_network_initialises_nothing():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(3))
    net.infer_shape(nd.zeros((2, 3, 8, 8)))
    assert [p.shape for p in net.collect_params().values()] == [
        (4, 3, 3, 3), (4,), (4,), (4,), (4,), (4,), (3, 36), (3,),
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="not been initialized"):
        net[0].weight.data()
    net.initialize(mx.init.One())
    assert net[3].weight.data().shape == (3, 36)


def test_a_block_that_defines_forward_may_infer_its_shapes():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(0, 2), allow_deferred_init=True)

        def infer_shape(self, x):
            self.weight.shape = (x.shape[1], 2)

        def forward(self, x):
            return nd.dot(x, self.weight.data())

    net = Net()
    net.initialize(mx.init.One())
    np.testing.assert_array_equal(net(nd.ones((1, 3))).asnumpy(), [[3, 3]])


def test_set_data_before_the_shape_is_known():
    net = nn.Dense(2)
    net.initialize()
    net.weight.set_data(nd.ones((2, 3)))
    np.testing.assert_array_equal(net(nd.ones((1, 3))).asnumpy(), [[3, 3]])


# ---- running ----


def test_hooks_see_inputs_and_outputs():
    seen = []
    net = nn.Dense(2, in_units=3)
    net.initialize()
    pre = net.register_forward_pre_hook(lambda block, args: seen.append(("pre", block, len(args))))
    post = net.register_forward_hook(lambda block, args, out: seen.append(("post", args[0].shape, out.shape)))
    net(nd.zeros((4, 3)))
    assert seen == [("pre", net, 1), ("post", (4, 3), (4, 2))]
    pre.detach()
    with post:
        net(nd.zeros((4, 3)))
    net(nd.zeros((4, 3)))
    assert len(seen) == 3


def test_apply_visits_children_first():
    net = nn.HybridSequential()
    net.add(nn.Dense(2), nn.Flatten())
    seen = []
    net.apply(lambda block: seen.append(type(block).__name__))
    assert seen == ["Dense", "Flatten", "HybridSequential"]


def test_hybridize_changes_no_results():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), nn.Dropout(0.5), nn.Dense(2))
    net.initialize()
    x = array(3, 5)
    y = net(x).asnumpy()
    net.hybridize(static_alloc=True, static_shape=True)
    np.testing.assert_array_equal(net(x).asnumpy(), y)
    outer = nn.Sequential()
    outer.add(net)
    with pytest.warns(UserWarning, match="HybridSequential"):
        outer.hybridize()
    with pytest.raises(ValueError, match="backend"):
        net.optimize_for(x)
    late = nn.Dense(2)
    late.initialize()
    late.optimize_for(x, backend="MKLDNN")
    assert late.weight.data().shape == (2, 5)


def test_inputs_may_be_nested_or_none():
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x, pair, mask=None):
            y = x + pair[0] * pair[1]
            return [y, y if mask is None else y * mask]

    net = Net()
    one = nd.ones((2,))
    np.testing.assert_array_equal(net(one, [one, one * 2])[1].asnumpy(), [3, 3])
    np.testing.assert_array_equal(net(one, (one, one), one * 0)[1].asnumpy(), [0, 0])


def test_two_contexts_have_their_own_arrays():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dense(2))
    contexts = [mx.cpu(0), mx.cpu(1)]
    net.initialize(ctx=contexts)
    x = array(4, 5)
    parts = gluon.utils.split_and_load(x, contexts)
    with autograd.record():
        outs = [net(part) for part in parts]
    assert [out.context for out in outs] == contexts
    for out in outs:
        out.backward()
    weight = net[0].weight
    assert weight.data(mx.cpu(1)).context == mx.cpu(1) and weight.grad(mx.cpu(1)).context == mx.cpu(1)
    assert all(array._fresh_grad for array in weight.list_data())
    assert not np.array_equal(weight.grad(mx.cpu(0)).asnumpy(), weight.grad(mx.cpu(1)).asnumpy())
    np.testing.assert_array_equal(weight.data(mx.cpu(0)).asnumpy(), weight.data(mx.cpu(1)).asnumpy())
    weight.reset_ctx(mx.cpu(1))
    assert weight.list_ctx() == [mx.cpu(1)]


def test_an_empty_list_of_contexts_leaves_parameters_without_arrays(tmp_path):
    filename = str(tmp_path / "net.params")
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.save_parameters(filename)
    loaded = nn.Dense(2, in_units=3)
    loaded.load_parameters(filename, ctx=[])  # what `[mx.gpu(i) for i in range(mx.context.num_gpus())]` may be
    initialized = nn.Dense(2, in_units=3)
    initialized.initialize(ctx=[])
    for block in (loaded, initialized):
        assert block.weight.list_ctx() == block.weight.list_data() == []
        for use, arguments in (block, [array(1, 3)]), (block.weight.data, []), (block.save_parameters, [filename]):
            with pytest.raises(RuntimeError, match="was not initialized on context cpu.0.. It was only initialized"):
                use(*arguments)
        with pytest.raises(ValueError, match="Cannot reset context"):
            block.weight.reset_ctx(mx.cpu())


def test_creation_inside_a_block_is_on_its_context():
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            self.made = F.zeros((2,))
            return x

    net = Net()
    net(nd.zeros((1,), ctx=mx.cpu(2)))
    assert net.made.context == mx.cpu(2)
    assert mx.current_context() == mx.cpu(0)


def test_a_gradient_penalty_reaches_all_weights():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh", in_units=3), nn.Dense(1, in_units=4))
    mx.random.seed(3)
    net.initialize(mx.init.Uniform(1))
    x = array(5, 3)
    x.attach_grad()
    with autograd.record():
        (gx,) = autograd.grad(net(x), [x], create_graph=True)
        penalty = ((gx.norm(axis=1) - 1) ** 2).mean()
    penalty.backward()
    w1, w2 = net[0].weight, net[1].weight
    step = 1e-2
    for param, index in ((w1, (1, 2)), (w2, (0, 3))):
        values = []
        for sign in (1, -1):
            moved = param.data().asnumpy()
            before = moved.copy()
            moved[index] += sign * step
            param.set_data(nd.array(moved))
            with autograd.record():
                (gx,) = autograd.grad(net(x), [x], create_graph=True)
                values.append(((gx.norm(axis=1) - 1) ** 2).mean().asscalar())
            param.set_data(nd.array(before))
        slope = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(param.grad().asnumpy()[index], slope, rtol=0.02, atol=1e-4)


def test_dense_on_numpy_arrays():
    net = nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    y = net(nd.ones((1, 3)).as_np_ndarray())
    assert type(y) is mx.np.ndarray
    np.testing.assert_array_equal(y.asnumpy(), [[3, 3]])


def test_summary(capsys):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=3), nn.BatchNorm(in_channels=4), nn.Dense(2))
    net.initialize()
    net.summary(nd.zeros((1, 3, 4, 4)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "-" * 80 and lines[2] == "=" * 80
    assert lines[3] == "               Input                                (1, 3, 4, 4)               0"
    assert lines[4].split() == ["Conv2D-1", "(1,", "4,", "2,", "2)", "112"]
    assert "   Non-trainable params: 8" in lines
    net.hybridize()
    with pytest.raises(AssertionError, match="hybridized"):
        net.summary(nd.zeros((1, 3, 4, 4)))


# ---- files ----


def network(prefix=None):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.Dense(2, in_units=3))
    return net


def same(a, b):
    pairs = zip(a.collect_params().values(), b.collect_params().values(), strict=True)
    return all(np.array_equal(p.data().asnumpy(), q.data().asnumpy()) for p, q in pairs)


def test_save_and_load(tmp_path):
    file = str(tmp_path / "net.params")
    net, other = network("a_"), network("b_")
    net.initialize()
    net.save_parameters(file)
    assert sorted(nd.load(file)) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    other.load_parameters(file, ctx=mx.cpu(1))
    assert same(net, other) and other[0].weight.list_ctx() == [mx.cpu(1)]
    with pytest.warns(UserWarning, match="deprecated"):
        net.save_params(file)
    assert sorted(nd.load(file)) == ["dense0_bias", "dense0_weight", "dense1_bias", "dense1_weight"]
    other = network("b_")
    other.load_parameters(file)
    assert same(net, other)


def test_load_says_what_does_not_fit(tmp_path):
    file = str(tmp_path / "net.params")
    net = network()
    net.initialize()
    net.save_parameters(file)
    small, large = nn.HybridSequential(), network()
    small.add(nn.Dense(3, in_units=2))
    large.add(nn.Dense(2, in_units=2))
    with pytest.raises(ValueError, match="Parameter '1.(weight|bias)' loaded from file .* is not present"):
        small.load_parameters(file)
    small.load_parameters(file, ignore_extra=True)
    with pytest.raises(AssertionError, match="Parameter '2.weight' is missing in file"):
        large.load_parameters(file)
    large.load_parameters(file, allow_missing=True)
    wrong = nn.HybridSequential()
    wrong.add(nn.Dense(3, in_units=5), nn.Dense(2))
    with pytest.raises(AssertionError, match="shape incompatible expected .*5.* vs saved .*2"):
        wrong.load_parameters(file)
    wide = network()
    wide.cast("float64")
    with pytest.raises(AssertionError, match="dtype incompatible"):
        wide.load_parameters(file)
    wide.load_parameters(file, cast_dtype=True)
    assert wide[0].weight.data().dtype == np.float64
    wide = network()
    wide.cast("float64")
    wide.load_parameters(file, cast_dtype=True, dtype_source="saved")
    assert wide[0].weight.data().dtype == np.float32
    there = network()
    there.initialize(ctx=mx.cpu(1))
    with pytest.raises(AssertionError, match="previous initialized on"):
        there.load_parameters(file, ctx=mx.cpu(0))


def test_deduplicate_writes_a_shared_parameter_once(tmp_path):
    file = str(tmp_path / "net.params")
    net = nn.HybridSequential()
    first = nn.Dense(2, in_units=2)
    net.add(first, nn.Dense(2, in_units=2, params=first.params))
    net.initialize()
    net.save_parameters(file, deduplicate=True)
    assert len(nd.load(file)) == 2
    net.load_parameters(file)


def test_a_model_is_saved_with_its_names(tmp_path):
    class Named(gluon.Block):
        def add(self, block):
            self._children[block.name] = block

        def forward(self, x):
            for block in self._children.values():
                x = block(x)
            return x

    def make():
        outer, inner = Named(), Named()
        inner.add(nn.Dense(4))
        outer.add(inner)
        outer.add(nn.Dense(2))
        return outer

    net, other = make(), make()
    net.initialize()
    x = array(2, 3)
    y = net(x).asnumpy()
    net.save(str(tmp_path / "it"))
    other.load(str(tmp_path / "it"))
    np.testing.assert_array_equal(other(x).asnumpy(), y)
    assert list(other._collect_params_with_prefix()) == list(net._collect_params_with_prefix())
    with pytest.raises(ValueError, match="another model"):
        nn.Dense(2).load(str(tmp_path / "it"))


def test_cast_keeps_batch_normalisation_single():
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2), nn.BatchNorm(in_channels=2))
    net.initialize()
    net.cast("float16")
    assert net[0].weight.data().dtype == np.float16 and net[0].weight.grad().dtype == np.float16
    assert net[1].gamma.data().dtype == np.float32


def test_export_needs_a_hybridized_call():
    net = network()
    net.initialize()
    net(nd.zeros((1, 2)))
    with pytest.raises(RuntimeError, match="hybridize"):
        net.export("x")


def test_export_and_import(tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(2, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = array(2, 3, 5, 5)
    y = net(x).asnumpy()
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    np.testing.assert_allclose(block(x).asnumpy(), y, rtol=1e-5, atol=1e-6)
    assert list(block.collect_params()) and block.collect_params()["batchnorm0_running_var"].grad_req == "null"


def test_files_under_numpy_semantics(tmp_path):
    file = str(tmp_path / "net.params")
    net = network()
    net.initialize()
    net.save_parameters(file)
    with mx.util.np_array(True), mx.util.np_shape(True):
        other = network()
        other.load_parameters(file)
        y = other(mx.np.ones((1, 2)))
        assert type(y) is mx.np.ndarray
        other.save_parameters(file)
        third = network()
        third.load_parameters(file)
    np.testing.assert_array_equal(y.asnumpy(), net(nd.ones((1, 2))).asnumpy())
    assert same(net, third)
    with pytest.raises(mx.MXNetError, match="np_shape"):
        network().load_parameters(file)


def test_files_of_full_names_are_refused_under_numpy_semantics(tmp_path):
    """MXNet refuses them too; it reads files of `save_parameters`, as those of pretrained models are."""
    file = str(tmp_path / "net.params")
    net = network()
    net.initialize()
    net.collect_params().save(file)
    with mx.util.np_array(True), mx.util.np_shape(True):
        for load in (lambda: net.load_parameters(file), lambda: net.collect_params().load(file)):
            with pytest.raises(mx.MXNetError, match="not saved under NumPy's shape semantics"):
                load()


def test_plain_blocks_know_their_context():
    class Net(gluon.Block):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(3), nn.Dense(2)

        def forward(self, x):
            return self.b(nd.relu(self.a(x * 2)) + 1)

    net = Net()
    contexts = [mx.cpu(1), mx.cpu(2)]
    net.initialize(ctx=contexts)
    outs = [net(nd.ones((2, 3), ctx=ctx)) for ctx in contexts]
    assert [out.context for out in outs] == contexts
    np.testing.assert_array_equal(outs[0].asnumpy(), outs[1].asnumpy())


def test_an_array_in_place_of_a_parameter():
    """MXFusion does this with samples: the layer computes with the array, and gradients reach the array's inputs."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3, use_bias=False))
    net.initialize()
    x, w = mx.nd.array([[1.0, 2.0, 3.0]]), mx.nd.array([[1.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    net(x)
    w.attach_grad()
    parameter = net[0].weight
    with mx.autograd.record():
        parameter._data[0] = w * 2
        y = net(x)
    y.backward()
    assert y.asnumpy().tolist() == [[2.0, 30.0]]
    assert parameter.data().asnumpy().tolist() == (2 * w.asnumpy()).tolist()
    assert w.grad.asnumpy().tolist() == [[2.0, 4.0, 6.0]] * 2
