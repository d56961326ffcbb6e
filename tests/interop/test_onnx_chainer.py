"""onnx-chainer's functions: Chainer's networks as ONNX models, run by onnx's own evaluator."""

import io

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.onnx_chainer as onnx_chainer

X = np.random.RandomState(0).rand(2, 1, 4, 4).astype("f")


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 2, 3, pad=1)
            self.norm = L.BatchNormalization(2)
            self.out = L.Linear(8, 3)

    def forward(self, x, scale=None):
        h = self.out(F.max_pooling_2d(F.relu(self.norm(self.conv(x))), 2))
        return h if scale is None else h * F.broadcast_to(scale, h.shape)


def expected(net, *args):
    with chainer.using_config("train", False):
        return net(*args).array


@pytest.fixture(scope="module")
def onnx():
    pytest.importorskip("onnxscript", reason="needs the extra compatgrad[onnx]")
    return pytest.importorskip("onnx", reason="needs the extra compatgrad[onnx]")


def run(onnx, model, **inputs):
    from onnx.reference import ReferenceEvaluator

    onnx.checker.check_model(model)
    return ReferenceEvaluator(model).run(None, inputs)


def test_a_model(onnx, tmp_path):
    net = Net()
    with pytest.warns(DeprecationWarning, match="export_testcase"):
        model, inputs, outputs = onnx_chainer.export(
            net, X, str(tmp_path / "net.onnx"), graph_name="net", save_text=True, return_named_inout=True
        )
    (y,) = run(onnx, model, Input_0=X)
    np.testing.assert_allclose(y, expected(net, X), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(outputs["Output_0"].array, y, rtol=1e-4, atol=1e-6)
    assert inputs["Input_0"].array is X or (inputs["Input_0"].array == X).all()
    assert model.graph.name == "net" and model.producer_name == "Chainer"
    assert onnx.load(tmp_path / "net.onnx") == model and "net" in (tmp_path / "net.onnx.txt").read_text()


def test_names_and_sizes(onnx):
    net, file = Net(), io.BytesIO()
    arguments = {"x": X, "scale": np.full((2, 3), 2, "f")}
    model = onnx_chainer.export(
        net, arguments, file, input_names={"x": "image", "scale": "factor"}, output_names=["score"],
        no_testcase=True, input_shapes={"x": ("n", 1, 4, 4), "scale": ("n", 3)},
    )  # fmt: skip
    assert [i.name for i in model.graph.input] == ["image", "factor"]
    assert [o.name for o in model.graph.output] == ["score"]
    assert onnx.load_from_string(file.getvalue()) == model
    (y,) = run(onnx, model, image=X[:1], factor=np.full((1, 3), 3, "f"))
    np.testing.assert_allclose(y, 3 * expected(net, X)[:1], rtol=1e-4, atol=1e-6)


def test_without_parameters(onnx):
    net = Net()
    model = onnx_chainer.export(net, [X], export_params=False)
    names = {i.name for i in model.graph.input}
    assert {"Input_0", "conv.W", "conv.b", "out.W"} <= names
    assert not names & {i.name for i in model.graph.initializer}


def test_testcase(onnx, tmp_path):
    net = Net()
    onnx_chainer.export_testcase(net, [X], str(tmp_path))
    folder = tmp_path / "test_data_set_0"
    x, y = (onnx.load_tensor(folder / f"{kind}_0.pb") for kind in ("input", "output"))
    assert x.name == "Input_0"
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(x), X)
    np.testing.assert_allclose(onnx.numpy_helper.to_array(y), expected(net, X), rtol=1e-4, atol=1e-6)
    with pytest.raises(NotImplementedError, match="output_grad"):
        onnx_chainer.export_testcase(net, [X], str(tmp_path), output_grad=True)


def test_errors(onnx):
    net = Net()
    with pytest.raises(ValueError, match="'args' argument"):
        onnx_chainer.export(net, 3)
    with pytest.raises(NotImplementedError, match="external_converters"):
        onnx_chainer.export(net, X, external_converters={"ReLU": lambda *_: None})
    with pytest.raises(ValueError, match="expected 1, got 2"):
        onnx_chainer.export(net, X, input_names=["a", "b"])
    with pytest.raises(ValueError, match="4 dimensions"):
        onnx_chainer.export(net, X, input_shapes=("n", 3))


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        onnx_chainer.export(Net(), X)
