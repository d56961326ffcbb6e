"""8-bit quantization and oneDNN's fused operators: values of MXNet 1.9.1 (tests/golden/mxnet_int8.py)."""

import json

import numpy as np
import pytest
import torch

import compatgrad.mxnet as mx
from compatgrad.mxnet.symbol import _fused, _graph
from tests.golden import files, mxnet_int8
from tests.golden.mxnet_int8 import DENSE, GOLDEN, GRAPHS, NUMBERS


@pytest.fixture(scope="module")
def original():
    return files.read(GOLDEN)


def recorded(original, prefix):
    found = []
    while f"{prefix}{len(found)}" in original:
        found.append(original[f"{prefix}{len(found)}"])
    return found


@pytest.mark.parametrize("k", range(len(NUMBERS)), ids=lambda k: f"{k}-{NUMBERS[k][0]}")
def test_numbers(original, k):
    found, expected = mxnet_int8.call(mx, *NUMBERS[k]), recorded(original, f"{k}_n")
    assert [(y.dtype, y.shape) for y in found] == [(y.dtype, y.shape) for y in expected]
    for y, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(y, value)


def same(found, expected):
    assert [(y.dtype, y.shape) for y in found] == [(y.dtype, y.shape) for y in expected]
    for y, value in zip(found, expected, strict=True):
        if y.dtype == np.float32:
            np.testing.assert_allclose(y, value, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(y, value)


@pytest.mark.parametrize("k", range(len(GRAPHS)))
def test_fused_convolutions(original, k):
    same(mxnet_int8.run(mx, GRAPHS[k], k), recorded(original, f"{k}_g"))


@pytest.mark.parametrize("k", range(len(DENSE)))
def test_fused_dense_layers(original, k):
    same(mxnet_int8.run_dense(mx, DENSE[k], k), recorded(original, f"{k}_d"))


def test_a_range_is_an_array_of_its_own():
    low, high = mx.nd.array([-1.0]), mx.nd.array([2.0])
    ends = mx.nd.contrib.quantize(mx.nd.array([0.5]), low, high)[1:]
    ends += mx.nd.contrib.quantize_v2(mx.nd.array([1], dtype="int8"))[1:]
    for end in ends:
        end[:] = 77
    assert (low.asscalar(), high.asscalar()) == (-1, 2)
    assert mx.nd.contrib.quantize_v2(mx.nd.array([1], dtype="int8"))[2].asscalar() == 127.5


def test_fused_operators_in_files():
    case = {"data": "uint8", "bias": True, "bn": {"fix_gamma": False}, "sum": "int8", "act": "relu", "reach": (0, 3)}
    net = mx.sym.load_json(mx.sym.load_json(mxnet_int8.symbol(case)).tojson())
    assert net.list_outputs() == ["fused_output", "fused_output_min", "fused_output_max"]
    assert net.list_arguments() == ["data", "weight", "bias", "gamma", "beta", "sum"]
    assert net.list_auxiliary_states() == ["moving_mean", "moving_var"]
    shapes = net.infer_shape(data=(2, 4, 6, 7), sum=(2, 8, 4, 5))
    assert shapes[0] == [(2, 4, 6, 7), (8, 4, 3, 3), (8,), (8,), (8,), (2, 8, 4, 5)]
    assert shapes[1:] == ([(2, 8, 4, 5), (1,), (1,)], [(8,), (8,)])
    f = np.float32
    assert net.infer_type(data="float32", sum="float32") == ([f] * 6, [np.uint8, f, f], [f] * 2)
    for case, dtype in (({}, np.int32), ({"reach": (-1, 2)}, np.int8), ({"act": "clip", "reach": (0, 2)}, np.uint8)):
        net = mx.sym.load_json(mxnet_int8.symbol({"data": "int8", **case}))
        assert net.infer_type(data="float32") == ([f] * 2, [dtype, f, f], [])


def test_blocks_of_fused_operators(tmp_path):
    case = GRAPHS[8]
    file = tmp_path / "net-symbol.json"
    file.write_text(mxnet_int8.symbol(case))
    net = mx.gluon.SymbolBlock.imports(str(file), ["data", "sum"], ctx=mx.cpu())
    net.initialize()
    arrays, states = mxnet_int8.arrays_of(case, 8)
    data, added = (mx.nd.array(arrays[k]) for k in ("data", "sum"))
    net(data, added)
    for name, p in net.collect_params().items():
        p.set_data(mx.nd.array((arrays | states)[name]))
    data.attach_grad()
    with mx.autograd.record():
        y = net(data, added)
    expected = mxnet_int8.run(mx, case, 8)
    for found, value in zip(y, expected, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), value)


def test_groups_of_several_channels_have_a_scale_for_each():
    """MXNet has a fault here: it uses the scales of the first channels for all."""
    case = {"data": "uint8", "reach": (-2, 2), "options": {"num_group": 2}}
    arrays, _ = mxnet_int8.arrays_of(case, 3)
    data = mx.nd.array(np.abs(arrays["data"]))
    weight = mx.nd.array(arrays["weight"])
    plain = mx.nd.Convolution(data, weight, kernel=(3, 3), num_filter=8, num_group=2, no_bias=True).asnumpy()
    net = mx.sym.load_json(mxnet_int8.symbol(case)).bind(mx.cpu(), {"data": data, "weight": weight}, grad_req="null")
    y = mx.nd.contrib.dequantize(*net.forward()).asnumpy()
    assert abs(y - plain.clip(-2, 2)).max() < 0.04


@pytest.mark.parametrize("dtype, sign", [("uint8", 1), ("int8", -1)])
def test_nan_takes_no_part_in_the_range_of_a_weight(dtype, sign):
    """The number itself becomes 127 in products with uint8, -128 in those with int8, as in oneDNN."""
    case = {"data": dtype, "reach": (-2, 2)}
    arrays, _ = mxnet_int8.arrays_of(case, 3)
    found = []
    for value in (np.nan, sign * 1.0001 * abs(arrays["weight"][0]).max()):
        weight = arrays["weight"].copy()
        weight[0, 0, 0, 0] = value
        bound = {"data": mx.nd.array(arrays["data"]), "weight": mx.nd.array(weight)}
        net = mx.sym.load_json(mxnet_int8.symbol(case)).bind(mx.cpu(), bound, grad_req="null")
        found.append(net.forward()[0].asnumpy().astype(int))
    np.testing.assert_allclose(*found, atol=1)


@pytest.mark.parametrize("name", ["data", "sum"])
def test_fused_convolutions_require_8_bit_inputs(name):
    graph = json.loads(mxnet_int8.symbol({"data": "uint8", "sum": "uint8", "reach": (-2, 2)}))
    (place,) = (i for i, node in enumerate(graph["nodes"]) if node["name"] == f"{name}_q")
    fused = graph["nodes"][-1]
    # the float32 input instead of the quantized one
    fused["inputs"] = [[place - 1, 0, 0] if e == [place, 0, 0] else e for e in fused["inputs"]]
    arrays, _ = mxnet_int8.arrays_of({"data": "uint8"}, 0)
    arguments = {k: mx.nd.array(arrays[k]) for k in ("data", "weight", "sum")}
    with pytest.raises(mx.MXNetError, match=f"fused: {name} must be int8 or uint8, got torch.float32"):
        mx.sym.load_json(json.dumps(graph)).bind(mx.cpu(), arguments, grad_req="null").forward()


def test_activations_without_an_8_bit_form(monkeypatch):
    monkeypatch.setitem(mxnet_int8.ACTIVATIONS, "gelu", ("LeakyReLU", {"act_type": "gelu"}))
    with pytest.raises(mx.MXNetError, match="fused: LeakyReLU gelu of 8-bit numbers is not supported; relu, leaky and"):
        mxnet_int8.run(mx, {"data": "uint8", "act": "gelu", "reach": (-2, 2)}, 0)


def test_data_of_a_negative_range_is_int8():
    graph = mxnet_int8.symbol({"data": "int8", "reach": (-2, 2)}).replace('"out_type": "auto"', '"out_type": "uint8"')
    arrays, _ = mxnet_int8.arrays_of({"data": "int8"}, 0)
    arguments = {name: mx.nd.array(arrays[name]) for name in ("data", "weight")}
    with pytest.raises(mx.MXNetError, match=r"fused: data of a range that begins at -0\.9 must be int8, got uint8"):
        mx.sym.load_json(graph).bind(mx.cpu(), arguments, grad_req="null").forward()


def test_types_and_mistakes_of_dense_layers():
    f, i8 = np.float32, np.int8
    net = mx.sym.load_json(mx.sym.load_json(mxnet_int8.dense_symbol(DENSE[3])).tojson())
    assert net.list_outputs() == ["fused_output", "fused_min_output", "fused_max_output"]
    assert net.infer_type(data="uint8") == ([np.uint8, i8, i8, *[f] * 6], [np.uint8, f, f], [])
    assert net.infer_shape(data=(3, 2, 5))[:2] == ([(3, 2, 5), (4, 10), (4,), *[(1,)] * 6], [(3, 4), (1,), (1,)])
    net = mx.sym.load_json(mxnet_int8.dense_symbol(DENSE[11]))
    assert net.list_outputs() == ["fused_output"]
    assert net.infer_type(data="int8") == ([i8, *[f] * 4], [f], [])
    with pytest.raises(mx.MXNetError, match="fused: channel_wise_quantize needs the range of the results, or enable"):
        mxnet_int8.run_dense(mx, {"data": "int8", "by_row": True}, 0)
    with pytest.raises(mx.MXNetError, match="fused: data must be int8 or uint8, got torch.float32"):
        mxnet_int8.run_dense(mx, {"data": "float32", "by_row": True, "float": True}, 0)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("channels, groups, kernel", [(700, 1, 3), (60, 3, 9), (2, 2, 31)])
def test_sums_of_many_products_are_exact(channels, groups, kernel, dtype):
    """Sums of up to 6,300 products are not all representable in float32."""
    rng = np.random.default_rng(0)
    filters = 2 * groups
    x = (np.iinfo(dtype).max - rng.integers(0, 3, (1, channels, kernel, kernel))).astype(dtype)
    w = rng.integers(-128, -120, (filters, channels // groups, kernel, kernel)).astype("int8")
    params = {"kernel": str((kernel, kernel)), "num_filter": str(filters), "num_group": str(groups)}
    found = _fused._sums(_graph.Node("Convolution", "c", [], params), torch.tensor(x), torch.tensor(w))
    products = x.reshape(groups, 1, -1).astype("int64") * w.reshape(groups, 2, -1).astype("int64")
    np.testing.assert_array_equal(found.numpy().reshape(groups, 2), products.sum(-1))
