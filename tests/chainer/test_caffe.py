"""Caffe models as links, and the vision models created from them."""

import types

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, chainer, f32

L = chainer.links
if ORIGINAL:
    from chainer.links.caffe.caffe_function import CaffeFunction, caffe_pb
    from chainer.links.model.vision import googlenet, resnet
else:
    from compatgrad.chainer.links.caffe.caffe_function import CaffeFunction, caffe_pb
    from compatgrad.chainer.links.model.vision import googlenet, resnet


def fill(message, values):
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and isinstance(value[0], dict):
            for item in value:
                fill(getattr(message, name).add(), item)
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)
    return message


def write(path, *layers, field="layer"):
    net = fill(caffe_pb.NetParameter(), {"name": "net", field: list(layers)})
    path.write_bytes(net.SerializeToString())
    return str(path)


def blob(*shape):
    data = np.random.RandomState(0).normal(size=shape).astype(np.float32)
    return data, {"shape": {"dim": list(shape)}, "data": data.ravel().tolist()}


def layer(name, kind, bottom, top, **params):
    return {"name": name, "type": kind, "bottom": bottom.split(), "top": top.split(), **params}


def test_a_network_computes(tmp_path):
    W, W_blob = blob(4, 3, 3, 3)
    b, b_blob = blob(4)
    fc, fc_blob = blob(5, 4 * 2 * 2)
    mean, mean_blob = blob(4)
    var_blob = dict(mean_blob, data=[2.0, 4.0, 6.0, 8.0])
    path = write(
        tmp_path / "model",
        layer("conv", "Convolution", "x", "h1", convolution_param={"kernel_size": [3]}, blobs=[W_blob, b_blob]),
        layer(
            "bn",
            "BatchNorm",
            "h1",
            "h2",
            batch_norm_param={"use_global_stats": True, "eps": 0.5},
            blobs=[mean_blob, var_blob, {"shape": {"dim": [1]}, "data": [2.0]}],
        ),
        layer("scale", "Scale", "h2", "h3", scale_param={"bias_term": True}, blobs=[mean_blob, b_blob]),
        layer("relu", "ReLU", "h3", "h3", relu_param={"negative_slope": 0.25}),
        layer("split", "Split", "h3", "s1 s2"),
        layer("sum", "Eltwise", "s1 s2", "h4", eltwise_param={"coeff": [1.5, -0.5]}),
        layer("pool", "Pooling", "h4", "h5", pooling_param={"kernel_size": 2, "stride": 2, "pool": 1}),
        layer("fc", "InnerProduct", "h5", "h6", inner_product_param={"bias_term": False}, blobs=[fc_blob]),
        layer("prob", "Softmax", "h6", "y"),
    )
    func = CaffeFunction(path)
    x = np.random.RandomState(1).normal(size=(2, 3, 6, 6)).astype(np.float32)
    h, y = func({"x": chainer.Variable(x)}, ["h6", "y"])
    e = F.convolution_2d(x, W, b)
    e = (e.array - mean[:, None, None] / 2) / np.sqrt(f32([1, 2, 3, 4]) + 0.5)[:, None, None]
    e = e * mean[:, None, None] + b[:, None, None]
    e = F.average_pooling_2d(F.leaky_relu(e, 0.25), 2).array.reshape(2, -1) @ fc.T
    np.testing.assert_allclose(h.array, e, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y.array, F.softmax(e).array, rtol=1e-4)
    assert sorted(name for name, _ in func.namedparams())[:2] == ["/conv/W", "/conv/b"]
    (h1,) = func({"h5": chainer.Variable(x[:, :, :2, :2].repeat(2, 1)[:, :4])}, ["h6"], disable=["prob"])
    assert h1.shape == (2, 5)


def test_the_first_format(tmp_path):
    _, W_blob = blob(2, 3)
    path = write(
        tmp_path / "model",
        {"name": "data", "type": 5, "top": ["x"]},
        {"name": "fc", "type": 14, "bottom": ["x"], "top": ["y"], "blobs": [W_blob, blob(2)[1]]},
        {"name": "lrn", "type": 15, "bottom": ["y"], "top": ["z"]},
        {"name": "unknown", "type": 1, "bottom": ["y"], "top": ["z"]},
        field="layers",
    )
    with pytest.warns(UserWarning, match="unknown"):
        func = CaffeFunction(path)
    assert [name for name, _, _ in func.layers] == ["fc", "lrn"] and func.fc.W.shape == (2, 3)


def test_grouped_filters(tmp_path):
    W, W_blob = blob(4, 2, 1, 1)
    params = {"kernel_h": 1, "kernel_w": 1, "group": 2, "bias_term": False}
    path = write(tmp_path / "model", layer("c", "Convolution", "x", "y", convolution_param=params, blobs=[W_blob]))
    x = np.random.RandomState(1).normal(size=(2, 4, 3, 3)).astype(np.float32)
    (y,) = CaffeFunction(path)({"x": chainer.Variable(x)}, ["y"])
    np.testing.assert_allclose(y.array, F.convolution_2d(x, W, groups=2).array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "kind, params",
    [
        ("Pooling", {"pooling_param": {"pool": 2}}),
        ("LRN", {"lrn_param": {"norm_region": 1}}),
        ("InnerProduct", {"inner_product_param": {"axis": 2}}),
        ("Softmax", {"softmax_param": {"axis": 2}}),
    ],
)
def test_options_without_counterpart(kind, params, tmp_path):
    with pytest.raises(RuntimeError, match="not supported"):
        CaffeFunction(write(tmp_path / "model", layer("l", kind, "x", "y", **params)))


def test_files_that_are_not_models(tmp_path):
    with pytest.raises(OSError):
        CaffeFunction(str(tmp_path / "missing"))
    path = tmp_path / "model"
    data = open(write(path, layer("l", "ReLU", "x", "y")), "rb").read()
    for bad in (data[:-3], data[:9], b"\xff" * 20):
        path.write_bytes(bad)
        with pytest.raises(Exception) as error:
            CaffeFunction(str(path))
        assert ORIGINAL or isinstance(error.value, ValueError)


@pytest.mark.skipif(ORIGINAL, reason="tests our reader of protocol buffers")
def test_messages():
    net = fill(caffe_pb.NetParameter(), {"layer": [{"name": "é", "reshape_param": {"shape": {"dim": [-1, 300]}}}]})
    other = caffe_pb.NetParameter()
    other.MergeFromString(net.SerializeToString() + b"\xa8\x7d\x05")  # an unknown field
    assert other.layer[0].name == "é" and list(other.layer[0].reshape_param.shape.dim) == [-1, 300]
    assert other.layer[0].lrn_param.local_size == 5 and not other.layer[0].lrn_param.HasField("local_size")
    assert other.layer[0].pooling_param.kernel_size == 0 and other.name == ""
    unpacked = caffe_pb.BlobProto()
    unpacked.MergeFromString(b"\x2d\x00\x00\x80\x3f\x2d\x00\x00\x00\x40")  # a repeated field that is not packed
    assert list(unpacked.data) == [1, 2]
    assert not other.layer[0].HasField("scale_param") and other.layer[0].scale_param.axis == 1
    assert not other.layer[0].HasField("scale_param")  # reading the default did not set the field
    with pytest.raises(ValueError, match="'name' has wire type 0"):
        other.MergeFromString(b"\x08\x05")  # a varint with the field number of `name`: not a length
    with pytest.raises(AttributeError, match="in place"):
        net.layer = []
    with pytest.raises(AttributeError, match="unheard_of"):
        net.unheard_of  # noqa: B018
    with pytest.raises(AttributeError, match="unheard_of"):
        net.unheard_of = 1


class FakeCaffe(dict):
    """Returns a layer for any name, whose arrays are numbers computed from the name."""

    def __init__(self, path=None):
        self.asked = []

    def __missing__(self, name):
        self.asked.append(name)
        n = self.number(name)
        child = types.SimpleNamespace(avg_mean=n, avg_var=n + 0.25)
        child.W = types.SimpleNamespace(array=n)
        child.b = types.SimpleNamespace(array=n + 0.5)
        child.bias = child
        return child

    def __getattr__(self, name):
        return self[name]

    @staticmethod
    def number(name):
        return sum(name.encode()) % 251


def test_googlenet_takes_weights_by_name(monkeypatch):
    convert = googlenet.GoogLeNet
    source = FakeCaffe()
    if ORIGINAL:
        model = convert(None)
        googlenet._transfer_googlenet(source, model)
    else:
        model = convert._from_caffe(source)
    for path, name in {"inc4c/proj5": "inception_4c/5x5_reduce", "loss2_fc1": "loss2/fc"}.items():
        link = model
        for part in path.split("/"):
            link = link[part]
        assert (link.W.array == FakeCaffe.number(name)).all() and (link.b.array == FakeCaffe.number(name) + 0.5).all()
    assert len(set(source.asked)) == 10 + 9 * 6


@pytest.mark.slow
@pytest.mark.skipif(ORIGINAL, reason="takes the weights one link at a time")
@pytest.mark.parametrize("n_layers", [50, 101])
def test_resnet_takes_weights_by_name(n_layers, monkeypatch, tmp_path):
    monkeypatch.setattr("compatgrad.chainer.links.caffe.caffe_function.CaffeFunction", FakeCaffe)
    path = str(tmp_path / "resnet.npz")
    resnet.ResNetLayers.convert_caffemodel_to_npz("model", path, n_layers)
    model = resnet.ResNetLayers(path, n_layers)
    name = "4c" if n_layers == 50 else "4b2"
    bn = model.res4.b2.bn2
    assert (bn.gamma.array == FakeCaffe.number(f"scale{name}_branch2b")).all()
    assert (bn.avg_mean == FakeCaffe.number(f"bn{name}_branch2b")).all()
    assert (model.res4.b2.conv2.W.array == FakeCaffe.number(f"res{name}_branch2b")).all()
    assert (model.res3.a.conv4.W.array == FakeCaffe.number("res3a_branch1")).all()
    assert (model.fc6.b.array == FakeCaffe.number("fc1000") + 0.5).all()
