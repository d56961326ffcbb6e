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
