"""Symbols: composition, attributes, autograd.get_symbol, shapes, execution."""

import copy
import json

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd, sym
from compatgrad.mxnet.base import MXNetError, NotImplementedForSymbol


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def classifier():
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=10, name="fc1")
    net = sym.Dropout(sym.BatchNorm(sym.Activation(net, act_type="relu")), p=0.3)
    return sym.SoftmaxOutput(sym.FullyConnected(net, num_hidden=3), name="softmax")


def test_names():
    net = classifier()
    assert net.list_arguments() == [
        "data", "fc1_weight", "fc1_bias", "batchnorm0_gamma", "batchnorm0_beta", "fullyconnected0_weight",
        "fullyconnected0_bias", "softmax_label",
    ]  # fmt: skip
    assert net.list_auxiliary_states() == ["batchnorm0_moving_mean", "batchnorm0_moving_var"]
    assert net.list_outputs() == ["softmax_output"] and net.name == "softmax" and repr(net) == "<Symbol softmax>"
    inside = net.get_internals()
    assert "fc1_output" in inside.list_outputs() and inside["fc1_output"].list_arguments() == [
        "data",
        "fc1_weight",
        "fc1_bias",
    ]
    assert repr(net.get_children()) == "<Symbol group [fullyconnected0, softmax_label]>"
    assert sym.Variable("x").get_children() is None
    parts = sym.split(sym.Variable("x"), num_outputs=3)
    assert len(parts) == 3 and parts.list_outputs() == ["split0_output0", "split0_output1", "split0_output2"]
    assert [p.name for p in parts] == ["split0"] * 3 and len(parts[1:]) == 2
    group = sym.Group([net, sym.Variable("y")])
    assert group.name is None and repr(group) == "<Symbol group [softmax, y]>"
    x = sym.Variable("x")
    assert [(x + 1).name, (2 - x).name, (x * x).name, (x == x).name] == [
        "_plusscalar0",
        "_rminusscalar0",
        "_mul0",
        "_equal0",
    ]
    with mx.name.Prefix("block_"):
        assert sym.relu(x).name == "block_relu0"


def test_attributes():
    a = sym.Variable("a", shape=(2, 3), lr_mult=2.0, init=mx.init.Zero(), dtype="float32", stype="default")
    assert a.list_attr() == {
        "__shape__": "(2, 3)", "lr_mult": "2.0", "__lr_mult__": "2.0", "__init__": '["zero", {}]', "__dtype__": "0",
        "__storage_type__": "0",
    }  # fmt: skip
    assert a.attr("lr_mult") == "2.0" and a.attr("nothing") is None and a.attr_dict()["a"]["lr_mult"] == "2.0"
    with mx.AttrScope(ctx_group="first"):
        b = sym.Convolution(a, kernel=(3, 3), num_filter=2, no_bias=True, name="conv")
    assert b.list_attr() == {
        "ctx_group": "first",
        "__ctx_group__": "first",
        "kernel": "(3, 3)",
        "num_filter": "2",
        "no_bias": "True",
    }
    b._set_attr(mood="good")
    assert b.attr("mood") == "good" and sym.load_json(b.tojson()).attr("mood") == "good"


def test_get_symbol_of_recorded_computations():
    x, w = nd.ones((2, 3)), nd.ones((4, 3))
    for v in (x, w):
        v.attach_grad()
    with autograd.record():
        y = nd.relu(nd.FullyConnected(x, w, no_bias=True, num_hidden=4)) * 2 + 1
        a, b = nd.split(y, num_outputs=2, axis=1)
        z = nd.softmax((a - b) * nd.ones((2, 2)) / a) ** 2
    s = autograd.get_symbol(z)
    assert (
        s.list_arguments() == ["var0", "var1", "null0"] and s.name == "node_9" and s.list_outputs() == ["node_9_output"]
    )
    ops = [n.op for n in s._nodes() if n.op]
    assert ops == [
        "FullyConnected", "relu", "_mul_scalar", "_plus_scalar", "SliceChannel", "broadcast_sub", "broadcast_mul",
        "broadcast_div", "softmax", "_power_scalar",
    ]  # fmt: skip
    assert autograd.get_symbol(a).list_outputs() == ["node_4_output0"]
    assert autograd.get_symbol(b).list_outputs() == ["node_4_output1"]
    text = s.debug_str()
    assert "Symbol Outputs:\n\toutput[0]=node_9(0)\n" in text and "Op:_power_scalar, Name=node_9" in text
    # the symbol of a recorded computation can be evaluated
    (again,) = s.eval(var0=x, var1=w, null0=nd.ones((2, 2)))
    np.testing.assert_allclose(again.asnumpy(), z.asnumpy(), rtol=1e-6)
    with pytest.raises(MXNetError, match="not in a computational graph"):
        autograd.get_symbol(nd.ones((1,)))

    class Twice(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return g * 2

    with autograd.record():
        y = Twice()(x)
    node = autograd.get_symbol(y)
    assert [n.op for n in node._nodes()] == [None, "_CustomFunction"] and node.attr("name") == "Twice"


def test_a_long_history():
    x = nd.ones((1,))
    x.attach_grad()
    with autograd.record():
        y = x
        for _ in range(20000):
            y = y + 1
    s = autograd.get_symbol(y)
    assert len(s._nodes()) == 20001 and sym.load_json(s.tojson()).list_arguments() == ["var0"]


def test_shapes():
    net = classifier()
    args, outs, aux = net.infer_shape(data=(5, 7))
    assert (
        args == [(5, 7), (10, 7), (10,), (10,), (10,), (3, 10), (3,), (5,)]
        and outs == [(5, 3)]
        and aux == [(10,), (10,)]
    )
    assert net.infer_shape((5, 7))[1] == [(5, 3)]
    with pytest.warns(UserWarning, match="cannot decide the shapes"):
        assert net.infer_shape() == (None, None, None)
    assert net.infer_shape_partial()[1] == [()]
    assert set(net.infer_type(data="float64")[0]) == {np.float64}
    bn = sym.BatchNorm(sym.Variable("x", dtype="float16"), name="bn")
    assert bn.infer_type() == ([np.float16, np.float32, np.float32], [np.float16], [np.float32, np.float32])
    x = sym.Variable("x")
    conv = sym.Deconvolution(sym.Convolution(x, kernel=(3, 3), num_filter=4, num_group=2), kernel=(2, 2), num_filter=6)
    assert conv.infer_shape(x=(1, 2, 8, 8))[0] == [(1, 2, 8, 8), (4, 1, 3, 3), (4,), (4, 6, 2, 2)]
    emb = sym.Embedding(x, input_dim=10, output_dim=4)
    assert emb.infer_shape(x=(2, 3)) == ([(2, 3), (10, 4)], [(2, 3, 4)], [])
    rnn = sym.RNN(x, state_size=5, num_layers=2, mode="lstm", state_outputs=True)
    weights = 4 * 5 * (3 + 5 + 2) + 4 * 5 * (5 + 5 + 2)
    assert rnn.infer_shape(x=(7, 2, 3))[:2] == (
        [(7, 2, 3), (weights,), (2, 2, 5), (2, 2, 5)], [(7, 2, 5), (2, 2, 5), (2, 2, 5)],
    )  # fmt: skip
    assert (x + sym.Variable("y")).infer_shape(x=(2, 3))[0] == [(2, 3), (2, 3)]


def test_execution():
    mx.random.seed(0)
    net = classifier()
    e = net.simple_bind(mx.cpu(), data=(5, 7))
    for name, x in e.arg_dict.items():
        x[:] = 1 if name.endswith("gamma") else nd.random.uniform(-1, 1, shape=x.shape)
    e.arg_dict["softmax_label"][:] = nd.array([0, 1, 2, 0, 1])
    e.aux_dict["batchnorm0_moving_var"][:] = 1
    (y,) = e.forward(is_train=True, data=np.ones((5, 7)))
    assert y.shape == (5, 3) and e.output_dict["softmax_output"] is y
    e.backward()
    assert e.grad_dict["fullyconnected0_bias"].asnumpy().any() and e.aux_dict["batchnorm0_moving_mean"].asnumpy().any()
    bigger = e.reshape(True, True, data=(8, 7))
    assert bigger.forward()[0].shape == (8, 3) and bigger.arg_dict["fc1_weight"] is e.arg_dict["fc1_weight"]
    e.copy_params_from({"fc1_bias": nd.ones((10,))})
    assert (e.arg_dict["fc1_bias"].asnumpy() == 1).all()

    x = sym.Variable("x")
    a = nd.array([1.0, 4.0])
    pairs = [(1 / x, [1, 0.25]), (x**2, [1, 16]), (2**x, [2, 16]), (x % 3, [1, 1]), (-x, [-1, -4]), (x > 2, [0, 1])]
    pairs += [(sym.maximum(x, 2), [2, 4]), (x.sqrt(), [1, 2]), (sym.sum(x), [5]), (x.reshape((2, 1)).T, [[1, 4]])]
    pairs += [(sym.zeros((2,)) + sym.arange(2), [0, 1]), (sym.concat(x, x, dim=0), [1, 4, 1, 4]), (abs(x - 2), [1, 2])]
    pairs += [(sym.linalg.gemm2(x.reshape((1, 2)), x.reshape((2, 1))), [[17]]), (x.slice_axis(0, 1, None), [4])]
    for s, expected in pairs:
        assert sym.load_json(s.tojson()).eval_imperative({"x": a})[0].asnumpy().tolist() == expected
    grad = nd.zeros((2,))
    e = (x * x * 3).bind(mx.cpu(), {"x": a}, {"x": grad}, "add")
    for _ in range(2):
        e.forward(is_train=True)
        e.backward(nd.array([1.0, 10.0]))
    assert grad.asnumpy().tolist() == [12, 480]


def test_composition():
    x, y = sym.Variable("x"), sym.Variable("y")
    inner = sym.exp(x, name="inner") + 1
    outer = inner(x=y * 2)
    assert outer.list_arguments() == ["y"] and inner.list_arguments() == ["x"]
    np.testing.assert_allclose(outer.eval(y=nd.array([1.0]))[0].asnumpy(), [np.exp(2) + 1], rtol=1e-6)
    assert inner(y).list_arguments() == ["y"]
    for same in (copy.copy(inner), copy.deepcopy(inner)):
        assert same.tojson() == inner.tojson() and same._outputs[0][0] is not inner._outputs[0][0]


def test_blocks_to_symbols_and_back(tmp_path):
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, padding=1), gluon.nn.BatchNorm(), gluon.nn.PReLU(), gluon.nn.GlobalAvgPool2D(),
            gluon.nn.Flatten(), gluon.nn.Dense(3))  # fmt: skip
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    x = nd.random.normal(shape=(2, 3, 8, 8))
    with autograd.train_mode():
        net(x)
    net.export(str(tmp_path / "net"), epoch=3)
    back = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0003.params"))
    np.testing.assert_allclose(back(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: bool(x), NotImplementedForSymbol, "bool"),
        (lambda x: x.asnumpy(), NotImplementedForSymbol, "asnumpy"),
        (lambda x: x.__iadd__(1), NotImplementedForSymbol, "="),
        (lambda x: x + "a", TypeError, "expected a Symbol or a number"),
        (lambda x: x["nothing"], ValueError, "Cannot find output"),
        (lambda x: x[3], IndexError, "output 3"),
        (lambda x: x.shape, AttributeError, "shape"),
        (lambda x: sym.no_such, AttributeError, "no_such"),
        (lambda x: sym.Variable(3), TypeError, "expected a string"),
        (lambda x: sym.Variable("a", foo="b"), ValueError, "double underscores"),
        (lambda x: sym.Group([x, 1]), TypeError, "list of symbols"),
        (lambda x: sym.relu(3), TypeError, "relu: argument data: expected a Symbol"),
        (lambda x: sym.concat(x, 3), TypeError, "argument 1: expected a Symbol"),
        (lambda x: sym.relu(x, other=x), MXNetError, "other is no input"),
        (lambda x: x(y=x), MXNetError, "y is no variable"),
        (lambda x: x(3), TypeError, "expected Symbols"),
        (lambda x: x.eval_imperative({}), MXNetError, "argument x is missing"),
        (lambda x: x.eval_imperative({"x": 3}), MXNetError, "argument x must be an NDArray"),
        (lambda x: x.bind(mx.cpu(), {}), ValueError, "key `x` is missing"),
        (lambda x: x.bind("cpu", {}), TypeError, "expected a Context"),
        (lambda x: x.bind(mx.cpu(), [nd.ones((1,))], grad_req="foo"), ValueError, "grad_req must be in"),
        (lambda x: x.infer_shape(q=(1,)), MXNetError, "there is no argument q"),
        (lambda x: sym.FullyConnected(x).infer_shape(x=(2, 3)), MXNetError, "num_hidden"),
        (
            lambda x: sym.FullyConnected(x, num_hidden=2, name="fc").infer_shape(x=(2, 3), fc_weight=(9, 9)),
            MXNetError, r"operator fc: input fc_weight: Shape inconsistent, Provided = \[9, 9\], inferred shape=\[2,",
        ),
        (
            lambda x: sym.dot(x, x, name="product").eval_imperative({"x": nd.ones((2, 3))}), MXNetError,
            "Error in operator product",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(sym.Variable("x"))


def test_gradients_of_what_outputs_do_not_depend_on():
    x, y = sym.Variable("x"), sym.Variable("y")
    grads = {k: nd.ones((2,)) for k in "xy"}
    e = (x * 2 + sym.BlockGrad(y)).bind(mx.cpu(), {"x": nd.ones((2,)), "y": nd.ones((2,))}, grads)
    e.forward(is_train=True)
    e.backward(nd.ones((2,)))
    assert grads["x"].asnumpy().tolist() == [2, 2] and grads["y"].asnumpy().tolist() == [0, 0]


def test_names_of_numpy(tmp_path):
    x, y = sym.Variable("x"), sym.Variable("y")
    a, b = nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[2.0, 2.0], [1.0, 0.0]])
    np_ = mx.np
    cases = [
        (sym.np.dot(x, y), lambda a, b: np_.dot(a, b)),
        (sym.np.multiply(x, y), lambda a, b: a * b),
        (sym.np.subtract(1, x), lambda a, b: 1 - a),
        (sym.np.power(x, 2), lambda a, b: a**2),
        (sym.np.concatenate([x, y], axis=1), lambda a, b: np_.concatenate([a, b], 1)),
        (sym.np.stack([x, y]), lambda a, b: np_.stack([a, b])),
        (sym.np.reshape(x, (4, 1)), lambda a, b: a.reshape(4, 1)),
        (sym.np.sum(sym.np.exp(x), axis=1), lambda a, b: np_.exp(a).sum(1)),
        (sym.npx.relu(x - 2), lambda a, b: npx_relu(a - 2)),
        (sym.npx.softmax(x, axis=-1), lambda a, b: mx.npx.softmax(a)),
        (sym.np.maximum(x, y), lambda a, b: np_.maximum(a, b)),
        (sym.np.greater(2, x), lambda a, b: (a < 2).astype("float32")),
        (sym.np.transpose(x), lambda a, b: a.T),
    ]
    npx_relu = mx.npx.relu
    for s, expected in cases:
        found = sym.load_json(s.tojson()).eval_imperative({"x": a, "y": b})[0].asnumpy()
        np.testing.assert_allclose(found, expected(a.as_np_ndarray(), b.as_np_ndarray()).asnumpy(), rtol=1e-6)
    with pytest.raises(AttributeError, match="no_such"):
        sym.np.no_such  # noqa: B018


def test_symbols_have_no_backends():
    doubled = mx.sym.Variable("x") * 2
    with pytest.warns(UserWarning, match="no backend 'TensorRT'"):
        assert doubled.optimize_for("TensorRT") is doubled
    with pytest.raises(MXNetError, match="no backend 'TensorRT'"):
        doubled.get_backend_symbol("TensorRT")
    with pytest.raises(MXNetError, match="not implemented"):
        doubled.gradient(["x"])


def test_attributes_that_are_not_finite():
    x = sym.var("x")
    a = nd.array([[[[-1.0, 2.0]]]])
    clipped = sym.clip(x, a_min=-0.5, a_max=np.inf)
    padded = sym.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 0, 0, 0, 1), constant_value=-np.inf)
    for s, expected in ((clipped, [-0.5, 2.0]), (padded, [-1.0, 2.0, -np.inf])):
        for t in (s, sym.load_json(s.tojson())):
            assert t.eval_imperative({"x": a})[0].asnumpy().ravel().tolist() == expected


def test_a_histogram_has_two_outputs():
    x, ends = mx.nd.array([[1, 2, 3], [4, 5, 6]]), mx.nd.array([0, 1, 5, 7])
    s = mx.sym.histogram(mx.sym.var("a"), bins=3, range=(0, 6), name="h")
    assert s.list_outputs() == ["h_output0", "h_output1"]
    counts, found = s.eval(a=x)
    assert counts.asnumpy().tolist() == [1, 2, 3] and found.asnumpy().tolist() == [0, 2, 4, 6]
    counts, found = mx.sym.histogram(mx.sym.var("a"), bins=mx.sym.var("b")).eval(a=x, b=ends)
    assert counts.asnumpy().tolist() == [0, 4, 2] and found.asnumpy().tolist() == [0, 1, 5, 7]
    with pytest.raises(ValueError, match="needs a range"):
        mx.sym.histogram(mx.sym.var("a"), bins=3)
    with pytest.raises(ValueError, match="expected a number or a symbol"):
        mx.sym.histogram(mx.sym.var("a"), bins=[3])


def test_names_of_several_outputs():
    x, y, z = (mx.sym.var(n) for n in "xyz")
    options = {"state_outputs": True, "state_size": 3, "num_layers": 1, "name": "n"}
    for s, expected in [
        (mx.sym.BatchNorm(x, output_mean_var=True, name="n"), ["n_output", "n_mean", "n_var"]),
        (mx.sym.BatchNorm(x, name="n"), ["n_output"]),
        (mx.sym.LayerNorm(x, output_mean_var=True, name="n"), ["n_output", "n_mean", "n_std"]),
        (mx.sym.RNN(x, mode="lstm", **options), ["n_output", "n_state_output", "n_statecell_output"]),
        (mx.sym.RNN(x, mode="gru", **options), ["n_output", "n_state_output"]),
        (mx.sym.contrib.Proposal(x, y, z, output_score=True, name="n"), ["n_output", "n_score"]),
        (mx.sym.contrib.MultiBoxTarget(x, y, z, name="n"), ["n_loc_target", "n_loc_mask", "n_cls_target"]),
        (mx.sym.topk(x, ret_typ="both", name="n"), ["n_output0", "n_output1"]),
    ]:
        assert s.list_outputs() == expected


def test_a_range_with_the_length_that_its_reader_needs():
    s = sym.arange(start=2, stop=None, step=0.5, infer_range=True) + sym.zeros(shape=[5])
    np.testing.assert_array_equal(s.bind(mx.cpu(), args={}).forward()[0].asnumpy(), [2, 2.5, 3, 3.5, 4])
    assert sym.arange(1, 7, 2).infer_shape()[1] == [(3,)]
    s = sym.load_json((sym.var("x") + sym.arange(0, repeat=2, infer_range=True)).tojson())
    assert s.infer_shape(x=(6,))[1] == [(6,)]
    for n in (4, 6):
        y = s.eval_imperative({"x": nd.ones(n)})[0]
        np.testing.assert_array_equal(y.asnumpy(), 1 + np.arange(n) // 2)
    exe = s.simple_bind(mx.cpu(), x=(4,))
    exe.set_monitor_callback(lambda name, array: None)
    np.testing.assert_array_equal(exe.forward()[0].asnumpy(), [0, 0, 1, 1])
    with pytest.raises(MXNetError, match="no operator determines the length"):
        sym.arange(0, infer_range=True).bind(mx.cpu(), args={}).forward()


def test_random_symbols():
    loc, scale = mx.sym.var("loc"), mx.sym.var("scale")
    arrays = {"loc": nd.array([0.0, 100.0]), "scale": nd.array([1.0, 2.0])}
    for s in (mx.sym.random.randn(500, loc=loc, scale=scale), mx.sym.random.normal(loc, scale, shape=500)):
        y = s.eval_imperative(arrays)[0].asnumpy()
        assert y.shape == (2, 500) and abs(y.mean(1) - [0, 100]).max() < 0.5
    assert mx.sym.random.randn(2, 3, loc=5.0).eval_imperative({})[0].shape == (2, 3)
    assert abs(mx.sym.random.exponential(4.0, shape=4000).eval_imperative({})[0].asnumpy().mean() - 4) < 0.5
    with pytest.raises(AssertionError, match="same type"):
        mx.sym.random.uniform(loc, 1.0)
    parts = mx.sym.contrib.rand_zipfian(loc, 50, 20)
    assert isinstance(parts, list) and len(parts) == 3
    drawn, of_true, of_drawn = mx.sym.Group(parts).eval_imperative({"loc": nd.array([0.0])})
    assert drawn.shape == (50,) and drawn.asnumpy().max() < 20 and of_drawn.dtype == np.float64
    np.testing.assert_allclose(of_true.asnumpy(), np.log(2) / np.log(21) * 50)


def test_groups():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    assert mx.sym.Group(mx.sym.Group([a, b])).list_outputs() == ["a", "b"]
    assert type(mx.sym.Group([a, b], mx.sym.np._Symbol)) is mx.sym.np._Symbol


def test_parts_of_a_split_are_a_list():
    """Also a single part is in a list, so that [0] gives the part."""
    x = mx.sym.var("x").as_np_ndarray()
    for parts, n in ((mx.sym.np.split(x, 1), 1), (mx.sym.np.split(x, 2), 2), (mx.sym.np.hsplit(x, 1), 1)):
        assert isinstance(parts, list) and len(parts) == n
    y = mx.sym.np.split(x, 1)[0][:, -1]
    assert y.eval_imperative({"x": mx.np.ones((2, 3, 4))})[0].shape == (2, 4)


@pytest.mark.parametrize(
    "make, shapes, outs",
    [
        (lambda a, b: sym.SequenceLast(a, b, use_sequence_length=True), {"a": (3, 2, 4)}, [(2, 4)]),
        (lambda a, b: sym.SequenceLast(a, b, use_sequence_length=True, axis=1), {"a": (3, 2, 4)}, [(3, 4)]),
        (lambda a, b: sym.linalg_inverse(a), {"a": (2, 3, 3)}, [(2, 3, 3)]),
        (lambda a, b: sym.sample_multinomial(a, shape=5), {"a": (2, 3)}, [(2, 5)]),
        (lambda a, b: sym.contrib.requantize(a, b, sym.var("c")), {"a": (3, 4)}, [(3, 4), (1,), (1,)]),
    ],
)
def test_shapes_of_operators_that_refuse_some_values(make, shapes, outs):
    assert make(sym.var("a"), sym.var("b")).infer_shape(**shapes)[1] == outs


def test_lengths_are_bound_before_they_are_known():
    last = sym.SequenceLast(sym.var("a"), sym.var("n"), use_sequence_length=True)
    exe = last.simple_bind(mx.cpu(), a=(3, 2, 4))
    assert exe.arg_dict["n"].shape == (2,)
    exe.arg_dict["a"][:] = nd.arange(24).reshape((3, 2, 4))
    exe.arg_dict["n"][:] = nd.array([1, 3])
    assert exe.forward()[0].asnumpy().tolist() == [[0, 1, 2, 3], [20, 21, 22, 23]]


def test_random_symbols_without_a_shape_take_that_of_their_reader():
    x = sym.Variable("x")
    for drawn in (sym.random.randn(), sym.random.normal(loc=3), sym.random.uniform(low=1, high=2)):
        y = drawn + x
        out = y.bind(mx.cpu(), {"x": nd.zeros((30, 20))}).forward()[0].asnumpy()
        assert out.shape == (30, 20) and len(np.unique(out)) > 500
        assert y.infer_shape(x=(3, 2))[1] == [(3, 2)]
    assert sym.random.normal(shape=(2,)).eval()[0].shape == (2,)


def test_names_of_numpys_random_numbers_and_images():
    mx.random.seed(3)
    draw = sym.np.random
    assert draw.rand(2, 3).eval()[0].shape == (2, 3)
    for drawn, mean in (
        (draw.lognormal(0.0, 0.5, size=(4000,)), np.exp(0.125)),
        (draw.chisquare(3.0, size=(4000,)), 3),
        (draw.beta(2.0, 3.0, size=(4000,)), 0.4),
    ):
        x = drawn.eval()[0].asnumpy()
        assert x.shape == (4000,) and abs(x.mean() - mean) < 0.1 * mean
    x = sym.var("x").as_np_ndarray()
    image = mx.np.ones((4, 5, 3)) * 255
    y = sym.npx.image.to_tensor(x).bind(mx.cpu(), {"x": image}).forward()[0]
    assert y.shape == (3, 4, 5) and float(y.max()) == 1
    assert sym.npx.shape_array(x).bind(mx.cpu(), {"x": image}).forward()[0].asnumpy().tolist() == [4, 5, 3]


def test_a_graph_as_an_operator():
    a, b = sym.Variable("a"), sym.Variable("b")
    inner = a * b + 1
    y = sym._internal._CachedOp(b, a * 2, subgraph=inner.tojson()) * 3
    assert y.list_arguments() == ["b", "a"]
    out = y.bind(mx.cpu(), {"a": nd.array([2.0]), "b": nd.array([5.0])}).forward()[0]
    assert out.asnumpy().tolist() == [(5 * 4 + 1) * 3]


def test_outputs_of_normalization_with_relu():
    for more, names in (({}, ["b_output"]), ({"output_mean_var": True}, ["b_output", "b_mean", "b_var"])):
        s = sym.contrib.BatchNormWithReLU(sym.Variable("x"), name="b", **more)
        assert s.list_outputs() == names
        assert s.infer_shape(x=(2, 4))[1] == [(2, 4), (4,), (4,)][: len(names)]
        e = s.simple_bind(mx.cpu(), x=(2, 4))
        assert [y.shape for y in e.forward()] == s.infer_shape(x=(2, 4))[1]


@pytest.mark.parametrize(
    "older, now, value",
    [
        ("_MulScalar", "_mul_scalar", [6, 8]), ("_RDivScalar", "_rdiv_scalar", [2 / 3, 0.5]),
        ("_GreaterEqualScalar", "_greater_equal_scalar", [1, 1]), ("_Plus", "elemwise_add", [6, 8]),
        ("_Maximum", "_maximum", [3, 4]), ("_Greater_Equal", "_greater_equal", [1, 1]), ("_Power", "_power", [27, 256]),
    ],
)  # fmt: skip
def test_operators_of_old_symbols(older, now, value):
    """Files of MXNet before 0.9 have these names; MXNet 1.9.1 reads them and writes the newer ones."""
    scalar = older.endswith("Scalar")
    inputs = ["x0"] if scalar else ["x0", "x1"]
    nodes = [{"op": "null", "name": name, "inputs": []} for name in inputs]
    places = [[i, 0, 0] for i in range(len(inputs))]
    nodes.append({"op": older, "name": "y", "param": {"scalar": "2"} if scalar else {}, "inputs": places})
    graph = {"nodes": nodes, "arg_nodes": list(range(len(inputs))), "heads": [[len(inputs), 0]]}
    s = sym.load_json(json.dumps(graph))
    assert json.loads(s.tojson())["nodes"][-1]["op"] == now
    y = s.eval(**{name: nd.array([3.0, 4.0]) for name in inputs})[0]
    np.testing.assert_allclose(y.asnumpy(), value, rtol=1e-6)


def test_an_operator_that_nobody_knows():
    graph = {"nodes": [{"op": "_NoSuchOp", "name": "y", "inputs": []}], "arg_nodes": [], "heads": [[0, 0]]}
    with pytest.raises(MXNetError, match="there is no operator _NoSuchOp"):
        sym.load_json(json.dumps(graph)).eval()
