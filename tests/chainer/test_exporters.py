"""Export of networks as Caffe files, and names that programs import from Chainer's modules."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, chainer, f32

L = chainer.links
ROOT = chainer.__name__
caffe = importlib.import_module(f"{ROOT}.exporters.caffe")
CaffeFunction = importlib.import_module(f"{ROOT}.links.caffe").CaffeFunction


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 4, 3, 1, 1)
            self.norm = L.BatchNormalization(4)
            self.left = L.Convolution2D(4, 4, (3, 1), stride=2, pad=(1, 0), nobias=True)
            self.right = L.Convolution2D(4, 4, 1, stride=2)
            self.up = L.Deconvolution2D(8, 6, 2, 2)
            self.fc = L.Linear(6 * 3 * 3, 5)

    def forward(self, x):
        h = F.relu(self.norm(self.conv(x)))
        left, right = self.left(h), F.leaky_relu(self.right(h), 0.3)
        h = self.up(F.concat([left + right, F.sigmoid(left)], axis=1))
        h = F.average_pooling_2d(F.local_response_normalization(F.max_pooling_2d(h, 2, 2)), 2, 1)
        return F.softmax(self.fc(F.reshape(h, (1, -1))))


# the first layers, as written by Chainer
LAYERS = """
Input data: -> data
Convolution Convolution2DFunction-0-1: data -> Convolution2DFunction-0-1
BatchNorm FixedBatchNormalization-1-1_bn: Convolution2DFunction-0-1 -> FixedBatchNormalization-1-1_bn
Scale FixedBatchNormalization-1-1: FixedBatchNormalization-1-1_bn -> FixedBatchNormalization-1-1
ReLU ReLU-2-1: FixedBatchNormalization-1-1 -> ReLU-2-1
"""


def layers_of(text):
    for part in text.split("layer {")[1:]:
        fields = [line.split(": ", 1) for line in part.splitlines() if line.startswith("  ") and ": " in line]
        found = {n: [v.strip('"') for k, v in fields if k.strip() == n] for n in ("type", "name", "bottom", "top")}
        yield f"{found['type'][0]} {found['name'][0]}: {' '.join([*found['bottom'], '->', *found['top']])}"


@pytest.fixture
def exported(tmp_path):
    net, x = Net(), chainer.Variable(np.random.RandomState(0).normal(size=(1, 3, 8, 8)).astype("f"))
    net.norm.avg_mean[:], net.norm.avg_var[:] = 0.5, [1, 2, 3, 4]
    caffe.export(net, [x], str(tmp_path), True, "net")
    return net, x, tmp_path


def test_the_text_names_the_layers(exported):
    text = (exported[2] / "chainer_model.prototxt").read_text()
    assert text.startswith('name: "net"\nlayer {\n  name: "data"\n  type: "Input"\n')
    assert "shape: { dim: 1 dim: 3 dim: 8 dim: 8 }" in text
    found = list(layers_of(text))
    assert found[:5] == LAYERS.strip().splitlines() and len(found) == 18
    assert "Eltwise _ + _-5-1: Convolution2DFunction-3-1 LeakyReLU-4-1 -> _ + _-5-1" in found
    assert found[-1].startswith("Softmax Softmax-")
    window = text[text.index('name: "Convolution2DFunction-3-1"') :]
    if not ORIGINAL:
        assert window.index("kernel_w: 1") < window.index("kernel_h: 3")


def test_a_whole_number_is_written_as_one(exported):
    """The normalization's `k` is a double, which must be written as 2, not 2.0."""
    text = (exported[2] / "chainer_model.prototxt").read_text()
    assert "    k: 2\n" in text and "    beta: 0.75\n" in text


def test_the_parameters_come_back(exported):
    messages = importlib.import_module(f"{ROOT}.links.caffe.protobuf3.caffe_pb2")
    net, _, folder = exported
    message = messages.NetParameter()
    message.MergeFromString((folder / "chainer_model.caffemodel").read_bytes())
    layers = {layer.name: layer for layer in message.layer}
    assert all(layer.phase == messages.TEST for layer in message.layer)
    fc = next(layer for name, layer in layers.items() if name.startswith("LinearFunction"))
    np.testing.assert_array_equal(np.reshape(fc.blobs[0].data, (5, 54)), net.fc.W.array)
    norm = layers["FixedBatchNormalization-1-1_bn"]
    assert [list(b.data) for b in norm.blobs] == [[0.5] * 4, [1, 2, 3, 4], [1]]
    up = next(layer for name, layer in layers.items() if name.startswith("Deconvolution"))
    if not ORIGINAL:
        assert list(up.blobs[1].shape.dim) == [6]


def test_a_file_is_read_back(tmp_path):
    class Small(chainer.Chain):
        def __init__(self):
            super().__init__(conv=L.Convolution2D(3, 2, 1), norm=L.BatchNormalization(2), fc=L.Linear(None, 4))

        def forward(self, x):
            return F.leaky_relu(self.fc(F.max_pooling_2d(self.norm(self.conv(x)), 2, 2)), 0.1)

    x = chainer.Variable(np.random.RandomState(0).normal(size=(1, 3, 4, 4)).astype("f"))
    net = Small()
    caffe.export(net, (x,), str(tmp_path))
    again = CaffeFunction(str(tmp_path / "chainer_model.caffemodel"))
    with chainer.using_config("train", False):
        (y,) = again(inputs={"data": x}, outputs=[again.layers[-1][0]])
        np.testing.assert_allclose(y.array, net(x).array, rtol=1e-5)


def test_parameters_that_live_only_in_the_graph(tmp_path):
    W = np.arange(6.0).reshape(2, 3)
    caffe.export(lambda x: F.linear(x, W), [chainer.Variable(f32([[1, 2, 3]]))], str(tmp_path))
    again = CaffeFunction(str(tmp_path / "chainer_model.caffemodel"))
    (y,) = again(inputs={"data": chainer.Variable(f32([[1, 2, 3]]))}, outputs=[again.layers[-1][0]])
    np.testing.assert_allclose(y.array, [[8, 26]])


def test_functions_without_a_caffe_layer(tmp_path):
    x = chainer.Variable(f32([[1]]))
    with pytest.raises(Exception, match="Exp|exp"):
        caffe.export(F.exp, [x], str(tmp_path))
    with pytest.raises(NotImplementedError):
        caffe.export(F.add, [x, x])
    with pytest.raises(AssertionError, match="args must be a list of one Variable, got ndarray"):
        caffe.export(F.relu, [np.zeros(1)])
    with pytest.raises(AssertionError, match="must return a Variable or a list of these, got float"):
        caffe.export(lambda x: 1.0, [x])
    caffe.export(F.relu, [x])  # without a directory, nothing is written


# ---- names -----------------------------------------------------------------------------------------------------------

# names that the census would let go, as it knows reasons to; tests/census/private_names.txt has further ones
NAMES = """
exporters.caffe:export functions.activation.relu:ReLUGrad2 functions.activation.sigmoid:SigmoidGrad
functions.activation.tanh:TanhGrad functions.connection.linear:LinearGradData
functions.connection.linear:LinearGradWeight functions.rnn.lstm:LSTMGrad functions.rnn.n_step_gru:NStepBiGRU
functions.rnn.n_step_gru:NStepGRU functions.rnn.n_step_lstm:NStepBiLSTM functions.rnn.n_step_lstm:NStepLSTM
functions.rnn.n_step_rnn:n_step_rnn_base functions.rnn.n_step_rnn:n_step_rnn_impl functions.rnn.slstm:SLSTMGrad
functions.theano.theano_function:TheanoFunction graph_optimizations:static_code
graph_optimizations.static_graph_utilities:static_forward_optimizations
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_modules(name):
    module, _, attribute = name.partition(":")
    if module == "_environment_check" and ORIGINAL:
        pytest.importorskip("pkg_resources")
    assert getattr(importlib.import_module(f"{ROOT}.{module}"), attribute) is not None


def test_theano_functions_run_what_was_compiled():
    theano_function = importlib.import_module(f"{ROOT}.functions.theano.theano_function").theano_function

    class Type:
        ndim, numpy_dtype = 1, np.dtype("f")

    class Compiled:  # stands for the result of theano.function, with the attributes that are read
        def __init__(self, compute):
            self.indices = [[type("In", (), {"variable": type("Var", (), {"type": Type})})]] * 2
            self.compute = compute

        def __call__(self, *arrays):
            return self.compute(*arrays)

    x, y = chainer.Variable(f32([2, 3])), chainer.Variable(f32([5, 7]))
    z = theano_function(Compiled(lambda a, b: [a * b]), Compiled(lambda a, b, g: [g * b, (g * a).astype("d")]), x, y)
    assert z.array.tolist() == [10, 21]
    z.grad = f32([1, 10])
    z.backward()
    assert x.grad.tolist() == [5, 70] and y.grad.tolist() == [2, 30] and y.grad.dtype == np.float32
    with pytest.raises(Exception, match="ndim"):
        theano_function(Compiled(lambda a, b: [a]), None, x, chainer.Variable(f32([[1]])))


def test_helpers_that_programs_take():
    log_softmax = importlib.import_module(f"{ROOT}.functions.activation.log_softmax")
    x = np.random.RandomState(0).normal(size=(3, 4)).astype("f") * 50
    np.testing.assert_allclose(log_softmax._log_softmax(x), F.log_softmax(x).array, rtol=1e-5, atol=1e-5)
    assert log_softmax.logsumexp(x, axis=1).shape == (3, 1)
    roi = importlib.import_module(f"{ROOT}.functions.pooling.roi_pooling_2d")
    # recorded from the original
    assert roi._roi_pooling_slice(2, 1.5, 10, 1) == (slice(4, 6), 2)
    assert roi._roi_pooling_slice(3, 2.4, 10, 1) == (slice(8, 10), 2)
    assert roi._roi_pooling_slice(0, 1.0, 5, -3) == (slice(0, 0), 0)


def test_exporters_are_an_attribute_once_imported():
    code = f"import {ROOT} as c; a = hasattr(c, 'exporters'); import {ROOT}.exporters; print(a, bool(c.exporters))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "False True\n"
