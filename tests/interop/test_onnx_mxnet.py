"""`mx.onnx`: symbols and their parameters as ONNX files, run by onnx's own evaluator."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.gluon import nn


@pytest.fixture
def onnx():
    pytest.importorskip("onnxscript", reason="needs the extra compatgrad[onnx]")
    return pytest.importorskip("onnx", reason="needs the extra compatgrad[onnx]")


def convolutions():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
        net.add(nn.GlobalAvgPool2D(), nn.Dense(3))
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    net(mx.nd.zeros((1, 3, 8, 8)))
    return net


def run(onnx, path, **inputs):
    return onnx.reference.ReferenceEvaluator(onnx.load(path)).run(None, inputs)


def classifier():
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    params = [{"fc_weight": mx.nd.arange(12).reshape((3, 4)) / 10, "fc_bias": mx.nd.ones(3)}, {}]
    return mx.sym.SoftmaxOutput(fc, name="softmax"), params


def test_files_and_sizes_that_vary(onnx, tmp_path):
    net = convolutions()
    net.export(str(tmp_path / "net"))
    path = str(tmp_path / "net.onnx")
    files = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params")
    sizes = {"dynamic": True, "dynamic_input_shapes": [(None, 3, None, None)]}
    assert mx.onnx.export_model(*files, [(2, 3, 8, 8)], np.float32, path, **sizes) == path
    graph = onnx.load(path).graph
    assert [i.name for i in graph.input] == ["data"] and len(graph.output) == 1
    for shape in ((2, 3, 8, 8), (3, 3, 10, 6)):
        x = np.random.RandomState(0).randn(*shape).astype(np.float32)
        np.testing.assert_allclose(run(onnx, path, data=x)[0], net(mx.nd.array(x)).asnumpy(), rtol=1e-4, atol=1e-5)


def test_a_loss_layers_label_is_no_input(onnx, tmp_path):
    symbol, params = classifier()
    path = mx.contrib.onnx.export_model(symbol, params, [(2, 4)], np.float32, str(tmp_path / "s.onnx"))
    model = onnx.load(path)
    assert [x.name for x in model.graph.input] == ["data"] and [x.name for x in model.graph.output] == ["softmax"]
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    scores = np.exp(x @ params[0]["fc_weight"].asnumpy().T)
    np.testing.assert_allclose(run(onnx, path, data=x)[0], scores / scores.sum(1, keepdims=True), rtol=1e-5)


def test_wrong_arguments(onnx):
    symbol, params = classifier()
    with pytest.raises(ValueError, match="files or objects"):
        mx.onnx.export_model(symbol, "net.params", [(2, 4)])
    with pytest.raises(ValueError, match=r"inputs \['data'\], and 2 shapes"):
        mx.onnx.export_model(symbol, params, [(2, 4), (2,)])
    with pytest.raises(AssertionError, match="in_types and in_shapes"):
        mx.onnx.export_model(symbol, params, [(2, 4)], [np.float32, np.int32])
    with pytest.raises(AssertionError, match="dynamic_input_shapes"):
        mx.onnx.export_model(symbol, params, [(2, 4)], dynamic_input_shapes=[(None, 4)])


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        mx.onnx.export_model(*classifier(), [(2, 4)])
    with pytest.raises(NotImplementedError, match="one by one"):
        mx.onnx.get_operator_support()
