"""8-bit quantization: values of MXNet 1.9.1, and quantized networks."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import MXNetError, gluon, nd

c = nd.contrib
Q = nd.array([[-100, 5, 127]], dtype="int8")
W, B = nd.array([[1, -20, 3], [50, 2, -127]], dtype="int8"), nd.array([10, -7], dtype="int8")
RANGES = [nd.array([v]) for v in (-2.0, 2.0, -1.0, 0.5)]


def lists(ys):
    return [y.asnumpy().ravel().tolist() for y in ys]


def test_numbers_of_the_original():
    x, low, high = nd.array([[-1.2, 0.3, 0.7], [2.5, -0.1, 0.05]]), nd.array([-1.2]), nd.array([2.5])
    assert lists(c.quantize(x, low, high, out_type="int8")) == [[-61, 15, 36, 127, -5, 3], [-2.5], [2.5]]
    assert lists(c.quantize(x, low, high))[0] == [0, 31, 71, 255, 0, 5]
    assert lists(c.quantize_v2(x))[0] == [-61, 15, 36, 127, -5, 3]
    auto = c.quantize_v2(x, out_type="auto", min_calib_range=0.0, max_calib_range=2.0)
    assert lists(auto) == [[0, 38, 89, 255, 0, 6], [0], [2]] and auto[0].dtype == np.uint8
    i = nd.array([[-100000, 500000, 12700000]], dtype="int32")
    y, _, reach = c.requantize(i, nd.array([-20.0]), nd.array([15.0]))
    assert y.asnumpy().tolist() == [[-1, 5, 127]] and reach.asscalar() == pytest.approx(0.11827797)
    y = c.requantize(i, nd.array([-20.0]), nd.array([15.0]), min_calib_range=-0.05, max_calib_range=0.04)[0]
    assert y.asnumpy().tolist() == [[-2, 12, 127]]
    y, low, high = c.quantized_fully_connected(Q, W, *RANGES, num_hidden=2, no_bias=True)
    assert y.asnumpy().tolist() == [[181, -21119]] and y.dtype == np.int32
    assert low.asscalar() == -266288.5 and high.asscalar() == 266288.5
    assert lists(c.quantized_act(Q, *RANGES[:2], act_type="relu")) == [[0, 5, 127], [-2], [2]]
    rows = c.quantized_embedding(nd.array([1, 0]), W, *RANGES[2:], input_dim=2, output_dim=3)
    assert lists(rows) == [[50, 2, -127, 1, -20, 3], [-1], [0.5]]
    with pytest.raises(MXNetError, match="must be int32"):
        c.requantize(Q, low, high)


def test_dequantized_numbers_are_close():
    rng = np.random.default_rng(0)
    a, b = (nd.array(rng.standard_normal((2, 3, 5, 5)).astype("float32")) for _ in range(2))
    qa, qb = c.quantize_v2(a), c.quantize_v2(b)
    step = float(max(abs(a).max().asscalar(), abs(b).max().asscalar())) / 127
    np.testing.assert_allclose(c.dequantize(*qa).asnumpy(), a.asnumpy(), atol=step)
    total = c.quantized_elemwise_add(qa[0], qb[0], *qa[1:], *qb[1:])
    np.testing.assert_allclose(c.dequantize(*total).asnumpy(), (a + b).asnumpy(), atol=2 * step)
    product = c.quantized_elemwise_mul(qa[0], qb[0], *qa[1:], *qb[1:])
    np.testing.assert_allclose(c.dequantize(*product).asnumpy(), (a * b).asnumpy(), atol=8 * step)
    joined = c.quantized_concat(qa[0], qb[0], *qa[1:], *qb[1:], dim=1)
    np.testing.assert_allclose(c.dequantize(*joined).asnumpy(), nd.concat(a, b).asnumpy(), atol=2 * step)
    pooled = c.quantized_pooling(*qa, kernel=(2, 2), pool_type="max")
    expected = nd.Pooling(a, kernel=(2, 2), pool_type="max").asnumpy()
    np.testing.assert_allclose(c.dequantize(*pooled).asnumpy(), expected, atol=step)


def test_networks():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, padding=1, activation="relu"), gluon.nn.MaxPool2D(2), gluon.nn.Conv2D(8, 3),
            gluon.nn.Flatten(), gluon.nn.Dense(10))  # fmt: skip
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    x = nd.array(np.random.default_rng(0).random((4, 3, 12, 12)).astype("float32"))
    y = net(x)
    data = mx.io.NDArrayIter(x.asnumpy(), batch_size=4)
    for mode in ("none", "naive", "entropy"):
        small = mx.contrib.quantization.quantize_net_v2(net, calib_data=data, calib_mode=mode)
        error, reach = abs(small(x) - y), float(abs(y).max().asscalar())
        assert error.mean().asscalar() < 0.02 * reach
        if mode != "entropy":  # entropy calibration clips the largest numbers
            assert error.max().asscalar() < 0.05 * reach
        ops = [n.op for n in small._outputs._nodes() if n.op]
        assert ops.count("_contrib_quantized_conv") == 2 and ops[-1] == "_contrib_dequantize"
    kept = mx.contrib.quant.quantize_net_v2(net, calib_data=data, exclude_layers_match=["conv"])
    assert "Convolution" in [n.op for n in kept._outputs._nodes() if n.op]
    with pytest.raises(ValueError, match="unknown calibration mode other"):
        mx.contrib.quant.quantize_net_v2(net, calib_data=data, calib_mode="other")
    with pytest.raises(ValueError, match="data_shapes required"):
        mx.contrib.quant.quantize_net_v2(net)


@pytest.mark.parametrize(
    "bins, quantized, scale, threshold, divergence",  # results of MXNet 1.9.1
    [
        (101, 15, 1, 2.9735758304595947, 0.010455969721078873),
        (401, 31, 2, 7.482844829559326, 0.025314578786492348),
        (1001, 255, 0.5, 1.798280954360962, 0.0348801389336586),
    ],
)
def test_calibration_of_the_original(bins, quantized, scale, threshold, divergence):
    seed = {101: 0, 401: 1, 1001: 2}[bins]
    x = (np.random.RandomState(seed).randn(5000) * scale).astype("f")
    reach = abs(x).max()
    counts, ends = (nd.array(a) for a in np.histogram(x, bins=bins, range=(-reach, reach)))
    found = c.calibrate_entropy(counts, ends, num_quantized_bins=quantized)
    assert [y.shape for y in found] == [(1,), (1,)]
    assert found[0].asscalar() == pytest.approx(threshold, rel=1e-6)
    assert found[1].asscalar() == pytest.approx(divergence, rel=1e-3)


def test_histograms_that_cannot_be_calibrated():
    with pytest.raises(MXNetError, match="5 bins have 6 ends, got 5"):
        c.calibrate_entropy(nd.ones(5), nd.ones(5), num_quantized_bins=3)
    for quantized in (4, 7):
        with pytest.raises(MXNetError, match=f"odd num_quantized_bins up to 5, itself odd, got {quantized}"):
            c.calibrate_entropy(nd.ones(5), nd.ones(6), num_quantized_bins=quantized)
    with pytest.raises(MXNetError, match="too few numbers"):
        c.calibrate_entropy(nd.zeros(5), nd.ones(6), num_quantized_bins=3)


def test_an_embedding_of_numbers_is_bound_by_its_attributes():
    data = mx.sym.var("data", shape=(2,), dtype="int32")
    rows = mx.sym.contrib.quantized_embedding(data=data, input_dim=2, output_dim=3, name="e")
    exe = rows.simple_bind(mx.cpu(), grad_req="null")
    shapes = {name: (x.shape, x.dtype) for name, x in exe.arg_dict.items()}
    f, i8 = np.float32, np.int8
    assert list(shapes.values()) == [((2,), np.int32), ((2, 3), i8), ((1,), f), ((1,), f)]
    for x, value in zip(exe.arg_arrays, [nd.array([1, 0]), W, *RANGES[2:]], strict=True):
        x[:] = value
    assert lists(exe.forward()) == [[50, 2, -127, 1, -20, 3], [-1], [0.5]]


def test_ranges_of_histograms():
    a = np.linspace(-10.5, 11.3, 4000)
    counts, ends = np.histogram(a, bins=801, range=(-11.3, 11.3))
    for low, dtype, ends_at in ((a.min(), "int8", -1), (0.0, "uint8", 0)):
        histograms = {"layer": (counts, ends, low, a.max(), 11.3)}
        found = mx.contrib.quant._get_optimal_thresholds(histograms, dtype)
        assert not histograms and list(found) == ["layer"]
        assert found["layer"][1] == pytest.approx(11.3, rel=1e-2) and found["layer"][0] == ends_at * found["layer"][1]


@pytest.mark.parametrize("quantized_dtype", ["int8", "uint8", "auto"])
def test_a_quantized_graph_is_bound_by_the_shape_of_its_data(quantized_dtype):
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(2, 2), num_filter=2, name="c")
    x = mx.sym.Pooling(mx.sym.relu(x), kernel=(2, 2), pool_type="max")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=3, no_bias=True, name="fc")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    rng = np.random.RandomState(0)
    shapes = {"c_weight": (2, 1, 2, 2), "c_bias": (2,), "fc_weight": (3, 8)}
    args = {name: nd.array(rng.randn(*shape)) for name, shape in shapes.items()}
    data = mx.io.NDArrayIter(rng.rand(6, 1, 4, 4).astype(np.float32), np.zeros(6), 2)

    def outputs(sym, args, aux):
        mod = mx.mod.Module(sym)
        mod.bind(data.provide_data, data.provide_label, for_training=False)
        mod.set_params(args, aux)
        return mod, mod.predict(data).asnumpy()

    sym, qargs, aux = mx.contrib.quantization.quantize_model(
        net, args, {}, ctx=mx.cpu(), calib_mode="naive", calib_data=data, num_calib_examples=6,
        quantized_dtype=quantized_dtype,
    )  # fmt: skip
    mod, found = outputs(sym, qargs, aux)
    kept, _ = mod.get_params()
    assert kept["c_weight_quantize"].dtype == kept["fc_weight_quantize"].dtype == np.int8
    assert kept["fc_weight_quantize"].shape == (3, 8) and kept["fc_weight_quantize_min"].dtype == np.float32
    np.testing.assert_allclose(found, outputs(net, args, {})[1], atol=0.1)


def test_types_of_quantize_and_dequantize():
    x, low, high = (mx.sym.var(name) for name in ("x", "low", "high"))
    types = {None: np.uint8, "int8": np.int8}
    for out_type, found in types.items():
        options = {} if out_type is None else {"out_type": out_type}
        assert mx.sym.contrib.quantize(x, low, high, **options).infer_type(x="float32")[1] == [
            found, np.float32, np.float32,
        ]  # fmt: skip
    y = mx.sym.contrib.quantize_v2(x, out_type="uint8")
    assert y.infer_type(x="float32")[1] == [np.uint8, np.float32, np.float32]
    assert mx.sym.contrib.dequantize(y[0], y[1], y[2]).infer_type(x="float32")[1] == [np.float32]


def test_arguments_of_quantization_are_checked_by_name():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    quantize = mx.contrib.quantization.quantize_model
    for argument in ("excluded_sym_names", "excluded_op_names"):
        with pytest.raises(ValueError, match=argument):
            quantize(net, {}, {}, calib_mode="none", **{argument: "fc"})
    with pytest.raises(MXNetError, match="quantize_mode.*'foo'"):
        quantize(net, {}, {}, calib_mode="none", quantize_mode="foo")


def test_smoothed_histograms_are_the_originals():
    smooth = mx.contrib.quantization._smooth_distribution
    for counts, eps, expected in (
        ([0, 0, 1, 0, 0], 1e-3, [0.001, 0.001, 0.996, 0.001, 0.001]),
        ([3, 0, 5, 0, 0, 2], 1e-4, [2.9999, 1e-4, 4.9999, 1e-4, 1e-4, 1.9999]),
    ):
        found = smooth(np.array(counts, "float64"), eps=eps)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="All entries are 0"):
        smooth(np.zeros(2))
    for counts, eps, words in (([1e-4, 0, 0, 0], 1e-2, "0.03"), ([1, 0, 0, 0], 0.5, "3 of 4")):
        with pytest.raises(AssertionError, match=words):
            smooth(np.array(counts), eps=eps)


def bound(net, **values):
    """The results of a symbol for arrays by name."""
    arrays = {name: nd.array(x, dtype=np.asarray(x).dtype) for name, x in values.items()}
    return net.bind(mx.cpu(), arrays, grad_req="null").forward()


def test_products_are_cut_towards_0():
    a, b = (np.array(x, "int8") for x in ([[-100, 5, 127, -1]], [[3, 90, -128, 1]]))
    ends = {"lhs_min": -1.0, "lhs_max": 1.0, "rhs_min": -0.5, "rhs_max": 0.25}
    values = {"lhs": a, "rhs": b, **{name: np.array([x], "f") for name, x in ends.items()}}

    def product(**options):
        return mx.sym.contrib.quantized_elemwise_mul(*(mx.sym.var(name) for name in values), **options, name="q")

    # of MXNet 1.9.1
    y, low, high = bound(product(), **values)
    assert lists([y, low, high]) == [[-300, 450, -16256, -1], [-66572.125], [66572.125]] and y.dtype == np.int32
    y, low, high = bound(product(min_calib_range=-0.6, max_calib_range=0.5), **values)
    assert lists([y]) == [[-1, 2, -106, 0]]
    assert y.dtype == np.int8 and low.asscalar() == np.float32(-0.6) and high.asscalar() == 0.5
    net = product(enable_float_output=True)
    assert net.list_outputs() == ["q_output"]
    (y,) = bound(net, **values)
    products = [-0.009227219969034195, 0.013840830884873867, -0.499992311000824, -3.07574009639211e-05]
    assert lists([y]) == [products]
    # MXNet wraps around here
    (y, *_) = bound(product(min_calib_range=-0.1, max_calib_range=0.1), **values)
    assert lists([y]) == [[-11, 17, -128, 0]]


INT8, UINT8 = nd.array([[1, -2]], dtype="int8"), nd.array([[1, 2]], dtype="uint8")
LOW, HIGH = nd.array([-1.0]), nd.array([1.0])
FOUR = [LOW, HIGH, LOW, HIGH]
ONES = [nd.ones(2)] * 4


@pytest.mark.parametrize(
    "function, arrays, options, message",
    [
        (c.quantize, [nd.ones(2, dtype="float64"), LOW, HIGH], {}, "quantize: data must be float32, got float64"),
        (
            c.quantize,
            [nd.ones(2), nd.ones(2), HIGH],
            {},
            r"min_range must be float32 of the shape \(1,\), got float32 of",
        ),
        (c.quantize, [nd.ones(2), LOW, HIGH.astype("float64")], {}, "max_range must be float32 of .*, got float64"),
        (
            c.quantize_v2,
            [nd.ones(2, dtype="int32")],
            {},
            "quantize_v2: data must be float32 or int8 or uint8, got int32",
        ),
        (c.quantize_v2, [nd.ones(2)], {"min_calib_range": np.nan}, "min_calib_range must be a finite number, got nan"),
        (c.quantize_v2, [nd.ones(2)], {"max_calib_range": "inf"}, "max_calib_range must be a finite number, got inf"),
        (c.quantize_v2, [nd.ones(2)], {"min_calib_range": LOW}, "min_calib_range must be a finite number, got"),
        (c.dequantize, [nd.ones(2), LOW, HIGH], {}, "dequantize: data must be int8 or uint8 or int32, got float32"),
        (c.requantize, [INT8, LOW, HIGH], {}, "requantize: data must be int32, got int8"),
        (
            c.quantized_act,
            [nd.ones(2), LOW, HIGH],
            {"act_type": "relu"},
            "quantized_act: data must be int8 or uint8, got",
        ),
        (
            c.quantized_flatten,
            [INT8, LOW, nd.ones((1, 1))],
            {},
            r"max_data must be float32 .*, got float32 of \(1, 1\)",
        ),
        (c.quantized_pooling, [INT8, LOW, HIGH], {"kernel": (2,)}, "data must be 4-D or 5-D"),
        (
            c.quantized_pooling,
            [INT8.reshape((1, 1, 1, 2)), LOW, HIGH],
            {"global_pool": True},
            r"kernel must have 2 numbers for data of \(1, 1, 1, 2\), got \(\)",
        ),
        (
            c.quantized_pooling,
            [INT8.reshape((1, 1, 1, 2)), LOW, HIGH],
            {"kernel": (1, 1), "layout": "NHWC"},
            "'NHWC' for layout",
        ),
        (c.quantized_elemwise_add, [INT8, INT8[0], *FOUR], {}, r"rhs must have the shape \(1, 2\), got \(2,\)"),
        (c.quantized_elemwise_mul, [INT8, nd.ones((1, 2)), *FOUR], {}, "rhs must be int8 or uint8, got float32"),
        (c.quantized_concat, [INT8, INT8.astype("int32"), *FOUR], {}, "array 1 must be int8 or uint8, got int32"),
        (c.quantized_concat, [INT8, LOW, nd.ones(2)], {}, "end 1 of array 0 must be float32 of the shape"),
        (
            c.quantized_embedding,
            [nd.zeros(1), INT8, LOW, HIGH],
            {"input_dim": 2, "output_dim": 2},
            r"weight must have the shape \(2, 2\), got \(1, 2\)",
        ),
        (c.quantized_embedding, [nd.zeros(1), INT8, LOW, HIGH], {"input_dim": 1}, "argument output_dim is missing"),
        (
            c.quantized_embedding,
            [nd.zeros(1), UINT8, LOW, HIGH],
            {"input_dim": 1, "output_dim": 2},
            "weight must be int8, got uint8",
        ),
        (
            c.quantized_batch_norm,
            [INT8, *ONES, LOW, HIGH],
            {"min_calib_range": 1},
            "argument max_calib_range is missing",
        ),
        (
            c.quantized_batch_norm,
            [INT8, *ONES[:3], nd.ones(3), LOW, HIGH],
            {"min_calib_range": -1, "max_calib_range": 1},
            r"moving_var must have the shape \(2,\), got \(3,\)",
        ),
        (
            c.quantized_fully_connected,
            [INT8, UINT8, *FOUR],
            {"num_hidden": 1, "no_bias": True},
            "weight must be int8, got",
        ),
        (c.quantized_fully_connected, [INT8, INT8, *FOUR], {"no_bias": True}, "argument num_hidden is missing"),
        (
            c.quantized_fully_connected,
            [INT8, INT8, *FOUR],
            {"num_hidden": 2, "no_bias": True},
            "weight must have the shape",
        ),
        (
            c.quantized_fully_connected,
            [INT8, INT8, INT8[0, :1], *FOUR, LOW, HIGH],
            {"num_hidden": 1, "no_bias": True},
            "bias is given, but no_bias is True",
        ),
        (
            c.quantized_fully_connected,
            [INT8, INT8, INT8[0, :1], *FOUR],
            {"num_hidden": 1},
            "argument min_bias is missing",
        ),
        (
            c.quantized_fully_connected,
            [INT8, INT8, nd.ones(1), *FOUR, LOW, HIGH],
            {"num_hidden": 1},
            "bias must be int8, got float32",
        ),
    ],
)
def test_arrays_are_checked(function, arrays, options, message):
    with pytest.raises(MXNetError, match=message):
        function(*arrays, **options)


def test_symbols_of_bytes_know_their_inputs_shapes_and_types():
    """What MXNet 1.9.1 says of them."""
    s, data = mx.sym.contrib, mx.sym.var("data")
    ends = ["q_min_data", "q_max_data"]
    layer = s.quantized_conv(data, kernel=(3, 3), num_filter=4, pad=(1, 1), stride=(2, 2), name="q")
    assert layer.list_arguments() == [
        "data", "q_weight", "q_bias", *ends, "q_min_weight", "q_max_weight", "q_min_bias", "q_max_bias",
    ]  # fmt: skip
    assert layer.infer_shape(data=(2, 3, 6, 6))[:2] == (
        [(2, 3, 6, 6), (4, 3, 3, 3), (4,), *[(1,)] * 6],
        [(2, 4, 3, 3), (1,), (1,)],
    )
    f, i8 = np.float32, np.int8
    assert layer.infer_type(data="uint8") == ([np.uint8, i8, i8, *[f] * 6], [np.int32, f, f], [])
    layer = s.quantized_fully_connected(data, num_hidden=4, no_bias=True, name="q")
    assert layer.list_arguments() == ["data", "q_weight", *ends, "q_min_weight", "q_max_weight"]
    assert layer.infer_shape(data=(2, 3, 5))[:2] == ([(2, 3, 5), (4, 15), *[(1,)] * 4], [(2, 4), (1,), (1,)])
    norm = s.quantized_batch_norm(data, name="q", min_calib_range=-1.0, max_calib_range=1.0)
    assert norm.list_auxiliary_states() == ["q_moving_mean", "q_moving_var"]
    assert norm.infer_type(data="uint8") == ([np.uint8, *[f] * 4], [i8, f, f], [f, f])
    exe = norm.simple_bind(mx.cpu(), grad_req="null", type_dict={"data": "int8"}, data=(2, 3, 4, 4))
    assert {n: x.shape for n, x in exe.aux_dict.items()} == {"q_moving_mean": (3,), "q_moving_var": (3,)}
    pool = s.quantized_pooling(data, name="q", kernel=(3, 3), stride=(2, 2), pooling_convention="full")
    assert pool.infer_shape(data=(2, 3, 6, 6))[1] == [(2, 3, 3, 3), (1,), (1,)]
    flat = s.quantized_flatten(data, name="q")
    assert flat.infer_shape(data=(2, 3, 6))[1] == [(2, 18), (1,), (1,)]
    made = s.quantize(data, name="q")
    assert made.infer_shape(data=(2, 3))[:2] == ([(2, 3), (1,), (1,)], [(2, 3), (1,), (1,)])
    shifted = s.quantize_asym(data, name="q")
    assert shifted.list_outputs() == ["q_output", "q_scale", "q_shift"]
    assert shifted.infer_type(data="float32")[1] == [np.uint8, f, f]
    pair = [mx.sym.var(n) for n in ("a", "b", "a_min", "a_max", "b_min", "b_max")]
    product = s.quantized_elemwise_mul(*pair, name="q")
    assert product.infer_shape(a=(2, 3), b=(2, 3))[1] == [(2, 3), (1,), (1,)]
    assert product.infer_type(a="int8", b="int8")[1] == [np.int32, f, f]
    joined = s.quantized_concat(*pair, num_args=2, dim=0, name="q")
    assert joined.infer_shape(a=(2, 3), b=(1, 3))[1] == [(3, 3), (1,), (1,)]
    assert joined.infer_type(a="int8", b="uint8", a_min="float32")[1] == [i8, f, f]
    total = s.quantized_elemwise_add(*pair, min_calib_range=-1.0, max_calib_range=1.0, name="q")
    assert total.infer_type(a="uint8", b="uint8")[1] == [np.uint8, f, f]
    for net, dtype in ((made, "int8"), (norm, "float32"), (total, "float32")):
        with pytest.raises(MXNetError, match=f"operator q: Type inconsistent, Provided = {dtype}, inferred type = "):
            net.infer_type(**{net.list_arguments()[0]: dtype})
    with pytest.raises(MXNetError, match=r"Shape inconsistent, Provided = \[2\], inferred shape=\[1\]"):
        flat.infer_shape(data=(2, 3), q_min_data=(2,))


def test_gradients_are_0():
    x = nd.array([[0.5, -1.0]])
    x.attach_grad()
    w, low, high = nd.array([[1, 2]], dtype="int8"), nd.array([-1.0]), nd.array([1.0])
    with mx.autograd.record():
        q = c.quantize_v2(x, min_calib_range=-1.0, max_calib_range=1.0)
        sums = c.quantized_fully_connected(q[0], w, *q[1:], low, high, num_hidden=1, no_bias=True)
        y = c.dequantize(*c.requantize(*sums))
    x.grad[:] = 7
    y.backward()
    assert x.grad.asnumpy().tolist() == [[0, 0]]
    with mx.autograd.record():
        y = 3 * x + c.dequantize(*c.quantize(x, low, high))
    y.backward()
    assert x.grad.asnumpy().tolist() == [[3, 3]]
