"""Links against the original: initial weights of one seed, outputs and gradients of tests/golden.

`COMPATGRAD_SUBJECT=original PYTHON -m tests.chainer.test_links` records them again.
"""

import base64
import functools

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, chainer, f32
from tests.golden import files

L = chainer.links
GOLDEN = files.GOLDEN / "links.json.gz"


def rand(*shape):
    return (np.random.RandomState(sum(shape)).randint(-1000, 1000, shape) / 500).astype(np.float32)


def ints(*shape, high=4):
    return np.random.RandomState(sum(shape)).randint(0, high, shape).astype(np.int32)


def seqs(size=3):
    return [rand(n, size) for n in (2, 4, 3)]


def uniform(array):
    array[...] = np.random.uniform(-1, 1, array.shape)


def twice(link):
    """A stateful link that is called with one input after another."""
    return lambda: link_steps(link())


def link_steps(link):
    call = link.forward
    link.forward = lambda *xs: [call(x) for x in xs]
    return link


X2, X3, X4 = (rand(5, 3),), (rand(2, 3, 7),), (rand(2, 4, 7, 6),)
HX = rand(2, 3, 5)

# name -> constructor, inputs
CASES = {
    "Linear": (lambda: L.Linear(3, 4), X2),
    "Linear lazy": (lambda: L.Linear(4, nobias=True), (rand(2, 3, 2),)),
    "Linear arrays": (lambda: L.Linear(3, 2, initialW=rand(2, 3), initial_bias=rand(2)), X2),
    "Linear callable": (lambda: L.Linear(3, 2, initialW=uniform, initial_bias=uniform), X2),
    "Bias": (lambda: L.Bias(1, (3,)), X3),
    "Bias of an argument": (lambda: L.Bias(0), (rand(2, 3), rand(2))),
    "Scale": (lambda: L.Scale(1, (3,), bias_term=True), X3),
    "Scale of an argument": (lambda: L.Scale(0, bias_term=True, bias_shape=(2,)), (rand(2, 3), rand(2))),
    "Bilinear": (lambda: L.Bilinear(3, 2, 4), (rand(5, 3), rand(5, 2))),
    "Bilinear biases": (
        lambda: L.Bilinear(3, 2, 4, initial_bias=(uniform, uniform, rand(4))),
        (rand(5, 3), rand(5, 2)),
    ),
    "Bilinear nobias": (lambda: L.Bilinear(3, 2, 4, nobias=True), (rand(5, 3), rand(5, 2))),
    "EmbedID": (lambda: L.EmbedID(4, 3), (ints(2, 3),)),
    "EmbedID ignore": (lambda: L.EmbedID(4, 3, ignore_label=2), (ints(6),)),
    "Convolution2D": (lambda: L.Convolution2D(4, 2, 3, 2, 1), X4),
    "Convolution2D lazy": (lambda: L.Convolution2D(None, 2, (3, 2), (1, 2), (0, 1)), X4),
    "Convolution2D groups": (lambda: L.Convolution2D(4, 6, 3, groups=2, dilate=2, nobias=True), X4),
    "Convolution1D": (lambda: L.Convolution1D(3, 2, 3, stride=2, pad=1), X3),
    "Convolution1D lazy": (lambda: L.Convolution1D(None, 2, 3, cover_all=True, stride=2), X3),
    "Convolution3D": (lambda: L.Convolution3D(2, 3, 2), (rand(2, 2, 3, 4, 3),)),
    "ConvolutionND": (lambda: L.ConvolutionND(2, 4, 2, 3, groups=2, dilate=(1, 2)), X4),
    "Deconvolution2D": (lambda: L.Deconvolution2D(4, 2, 3, 2, 1), X4),
    "Deconvolution2D lazy": (lambda: L.Deconvolution2D(None, 2, 3, 2, 1, outsize=(14, 12), groups=2), X4),
    "Deconvolution1D": (lambda: L.Deconvolution1D(3, 2, 3, stride=2), X3),
    "Deconvolution3D": (lambda: L.Deconvolution3D(2, 3, 2, nobias=True), (rand(2, 2, 3, 4, 3),)),
    "DeconvolutionND": (lambda: L.DeconvolutionND(2, None, 2, 3), X4),
    "DilatedConvolution2D": (lambda: L.DilatedConvolution2D(4, 2, 3, dilate=2), X4),
    "DepthwiseConvolution2D": (lambda: L.DepthwiseConvolution2D(None, 2, 3, pad=1), X4),
    "LocalConvolution2D": (lambda: L.LocalConvolution2D(4, 2, (7, 6), 3), X4),
    "LocalConvolution2D lazy": (lambda: L.LocalConvolution2D(None, 2, None, (3, 2), nobias=True), X4),
    "DeformableConvolution2D": (
        lambda: L.DeformableConvolution2D(4, 2, 3, 1, 1, deform_initialW=uniform),
        X4,
    ),
    "MLPConvolution2D": (lambda: L.MLPConvolution2D(4, (3, 2), 3, activation=F.sigmoid), X4),
    "Inception": (lambda: L.Inception(4, 2, 3, 2, 1, 2, 3), X4),
    "InceptionBN": (lambda: L.InceptionBN(4, 2, 3, 2, 3, 2, "avg", 2), X4),
    "InceptionBN max": (lambda: L.InceptionBN(4, 0, 3, 2, 3, 2, "max", None, 2), X4),
    "Highway": (lambda: L.Highway(3, activate=F.tanh), X2),
    "Parameter": (lambda: L.Parameter(rand(3, 2)), ()),
    "Maxout": (lambda: L.Maxout(3, 2, 4), X2),
    "Maxout callable": (lambda: L.Maxout(3, 2, 2, uniform, uniform), X2),
    "PReLU": (lambda: L.PReLU((3,)), X2),
    "Swish": (lambda: L.Swish(None, 0.5), X2),
    "SimplifiedDropconnect": (lambda: L.SimplifiedDropconnect(None, 4), X2),
    "BatchNormalization": (lambda: L.BatchNormalization(4), X4),
    "BatchNormalization axis": (lambda: L.BatchNormalization(axis=(0, 2), use_beta=False), X3),
    "BatchNormalization initial": (
        lambda: L.BatchNormalization(3, 0.5, 1e-3, initial_gamma=uniform, initial_avg_mean=rand(3)),
        X2,
    ),
    "BatchRenormalization": (lambda: L.BatchRenormalization(4, 3, 1, use_gamma=False), X4),
    "DecorrelatedBatchNormalization": (lambda: L.DecorrelatedBatchNormalization(4, 2), (rand(9, 4),)),
    "LayerNormalization": (lambda: L.LayerNormalization(), X2),
    "GroupNormalization": (lambda: L.GroupNormalization(2), X4),
    "LSTM": (twice(lambda: L.LSTM(3, 2)), (rand(5, 3), rand(4, 3), rand(4, 3))),
    "LSTM lazy": (twice(lambda: L.LSTM(2, forget_bias_init=uniform)), (rand(5, 3), rand(5, 3))),
    "StatelessLSTM": (lambda: L.StatelessLSTM(3, 2), (rand(5, 2), rand(2, 5).T.copy(), rand(5, 3))),
    "GRU": (twice(lambda: L.GRU(3, 2)), (rand(5, 3), rand(3, 5).T.copy())),
    "StatelessGRU": (lambda: L.StatelessGRU(3, 2), (rand(5, 2), rand(5, 3))),
    "StatefulMGU": (twice(lambda: L.StatefulMGU(3, 2)), (rand(5, 3), rand(3, 5).T.copy())),
    "StatelessMGU": (lambda: L.StatelessMGU(3, 2), (rand(5, 2), rand(5, 3))),
    "StatefulPeepholeLSTM": (
        twice(lambda: L.StatefulPeepholeLSTM(3, 2)),
        (rand(5, 3), rand(3, 5).T.copy()),
    ),
    "StatefulZoneoutLSTM": (twice(lambda: L.StatefulZoneoutLSTM(3, 2)), (rand(5, 3), rand(3, 5).T.copy())),
    "ChildSumTreeLSTM": (
        lambda: L.ChildSumTreeLSTM(3, 2),
        (rand(5, 2), None, None, rand(5, 2), rand(5, 3)),
    ),
    "ChildSumTreeLSTM leaf": (lambda: L.ChildSumTreeLSTM(3, 2), X2),
    "NaryTreeLSTM": (lambda: L.NaryTreeLSTM(3, 2), (rand(5, 2), None, rand(5, 2), None, None)),
    "NStepLSTM": (lambda: L.NStepLSTM(2, 3, 5, 0.0), (HX, HX, seqs())),
    "NStepLSTM dropout": (lambda: L.NStepLSTM(2, 3, 5, 0.5), (None, None, seqs())),
    "NStepBiLSTM": (lambda: L.NStepBiLSTM(1, 3, 5, 0.0), (HX, HX, seqs())),
    "NStepGRU": (lambda: L.NStepGRU(2, 3, 5, 0.0), (HX, seqs())),
    "NStepBiGRU": (lambda: L.NStepBiGRU(2, 3, 5, 0.0), (None, seqs())),
    "NStepRNNTanh": (lambda: L.NStepRNNTanh(2, 3, 5, 0.0), (HX, seqs())),
    "NStepRNNReLU": (lambda: L.NStepRNNReLU(2, 3, 5, 0.0, initialW=uniform), (HX, seqs())),
    "NStepBiRNNTanh": (lambda: L.NStepBiRNNTanh(1, 3, 5, 0.0, initial_bias=uniform), (HX, seqs())),
    "NStepBiRNNReLU": (lambda: L.NStepBiRNNReLU(1, 3, 5, 0.0), (None, seqs())),
    "BlackOut": (lambda: with_weights(L.BlackOut(3, [1, 5, 2, 3], 2)), (rand(5, 3), ints(5))),
    "NegativeSampling": (
        lambda: with_weights(L.NegativeSampling(3, [1, 5, 2, 3], 2)),
        (rand(5, 3), ints(5)),
    ),
    "BinaryHierarchicalSoftmax": (
        lambda: L.BinaryHierarchicalSoftmax(3, ((0, 1), (2, (3, 5)))),
        (rand(5, 3), f32([0, 5, 3, 1, 2]).astype(np.int32)),
    ),
    "CRF1d": (
        lambda: L.CRF1d(3, initial_cost=uniform),
        ([rand(n, 3) for n in (4, 3)], [ints(n, high=3) for n in (4, 3)]),
    ),
    "Classifier": (lambda: L.Classifier(L.Linear(3, 4)), (rand(6, 3), ints(6))),
}


def with_weights(link):
    uniform(link.W.array)
    return link


def flat(values):
    if isinstance(values, (list, tuple)):
        return [x for v in values for x in flat(v)]
    return [values]


def run(name):
    """The values of one training step: initial parameters, outputs, gradients, persistent values."""
    make, inputs = CASES[name]
    np.random.seed(0)
    link = make()
    wrap = lambda x: chainer.Variable(x.copy()) if getattr(x, "dtype", "") == np.float32 else x  # noqa: E731
    args = [[wrap(x) for x in a] if isinstance(a, list) else wrap(a) for a in inputs]
    seen = {}
    np.random.seed(1)
    outputs = flat(link(*args))
    for path, param in link.namedparams():
        seen["before" + path] = param.array.copy()
    link.cleargrads()
    loss = 0
    for i, y in enumerate(outputs):
        seen[f"output/{i}"] = y.array
        weights = np.cos(np.arange(y.size, dtype=np.float32)).reshape(y.shape)
        loss += F.sum(y * weights)
    loss.backward()
    for path, param in link.namedparams():
        if param.grad is not None:
            seen["gradient" + path] = param.grad
    for i, x in enumerate(flat(args)):
        if isinstance(x, chainer.Variable) and x.grad is not None:
            seen[f"gradient/{i}"] = x.grad
    for path, child in link.namedlinks():
        for persistent in child._persistent:
            seen[f"after{path}/{persistent}"] = np.asarray(getattr(child, persistent))
    return seen


def pack(array):
    return [array.dtype.name, array.shape, base64.b64encode(array.tobytes()).decode()]


def unpack(packed):
    dtype, shape, data = packed
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape)


@functools.cache
def golden():
    return files.read(GOLDEN)


@pytest.mark.parametrize("name", CASES)
def test_link(name):
    expected = {key: unpack(value) for key, value in golden()[name].items()}
    seen = run(name)
    assert sorted(seen) == sorted(expected)
    for key, value in expected.items():
        assert seen[key].dtype == value.dtype and seen[key].shape == value.shape, key
        if key.startswith("before"):
            np.testing.assert_array_equal(seen[key], value, err_msg=key)
        else:
            scale = np.abs(value).max() if value.size else 1
            atol = 1e-5 * max(scale, 1e-2)
            np.testing.assert_allclose(seen[key], value, rtol=1e-4, atol=atol, err_msg=key)


# ---- behavior outside of training steps --------------------------------------------------------------------


def test_from_params():
    W, b = rand(2, 3), rand(2)
    link = L.Linear.from_params(W, b)
    assert link.in_size == 3 and link.out_size == 2
    np.testing.assert_array_equal(link.W.array, W)
    np.testing.assert_array_equal(link.b.array, b)
    assert L.Linear.from_params(chainer.Variable(W), nobias=True).b is None
    with pytest.raises(ValueError, match="out_size"):
        L.Linear.from_params(W, rand(3))
    conv = L.Convolution2D.from_params(rand(4, 2, 3, 3), rand(4), stride=2, groups=2)
    assert conv.in_channels == 4 and conv.stride == (2, 2) and conv(rand(1, 4, 5, 5)).shape == (1, 4, 2, 2)
    with pytest.raises(ValueError, match="out_channels"):
        L.Convolution2D.from_params(rand(4, 2, 3, 3), rand(2))
    conv = L.ConvolutionND.from_params(rand(4, 2, 3), rand(4))
    assert conv(rand(1, 2, 5)).shape == (1, 4, 3)
    assert L.EmbedID.from_params(rand(4, 2), ignore_label=1).ignore_label == 1


@pytest.mark.parametrize(
    "make, error, match",
    [
        (lambda: L.Convolution2D(3, 4, 3, groups=2), ValueError, "input channels"),
        (lambda: L.Convolution2D(4, 3, 3, groups=2), ValueError, "output channels"),
        (lambda: L.ConvolutionND(1, 3, 4, 3, groups=2), ValueError, "input channels"),
        (lambda: L.Deconvolution2D(4, 3, 3, groups=2), ValueError, "output channels"),
        (lambda: L.DeconvolutionND(1, 3, 4, 3, groups=2), ValueError, "input channels"),
        (lambda: L.Convolution2D(3, 4, 3, deterministic=True), ValueError, "cudnn_deterministic"),
        (lambda: L.Convolution2D(3, 4, 3, unheard_of=True), TypeError, "unheard_of"),
        (lambda: L.MLPConvolution2D(3, (4,), 3, wscale=1), ValueError, "wscale"),
        (lambda: L.MLPConvolution2D(3, (4,), 3, 1, 0, F.relu, 1), TypeError, "wscale"),
        (lambda: L.Scale(bias_term=True), ValueError, "bias_shape"),
        (lambda: L.Bilinear(1, 2, 3, initial_bias=3), ValueError, "initial_bias"),
        (lambda: L.BatchNormalization(), RuntimeError, "size or axis"),
        (lambda: L.BatchNormalization(3)(rand(2, 3), test=True), ValueError, "test"),
        (lambda: L.GroupNormalization(1)(rand(3)), ValueError, "dimension"),
        (lambda: L.InceptionBN(1, 1, 1, 1, 1, 1, "sum"), NotImplementedError, "InceptionBN|^$"),
        (lambda: L.Maxout(3, 2, 2, rand(4, 3)), ValueError, "initialW"),
        (lambda: L.Maxout(3, 2, 2, None, rand(4)), ValueError, "initial_bias"),
        (lambda: L.GRU(3, 2)(rand(1, 2), rand(1, 3)), ValueError, "StatelessGRU"),
        (lambda: L.NStepLSTM(1, 2, 3, 0, use_cudnn=True), ValueError, "use_cudnn"),
        (lambda: L.StatefulZoneoutLSTM(2, 3, train=True), ValueError, "train"),
        (lambda: L.NaryTreeLSTM(2, 3)(None, None, None, None, None), ValueError, "None"),
        (lambda: L.Classifier(None, label_key=1.0), TypeError, "label_key"),
        (lambda: L.Classifier(None)(), ValueError, "out of bounds"),
        (lambda: L.Classifier(None, label_key="y")(1), ValueError, '"y"'),
        (lambda: L.BinaryHierarchicalSoftmax(1, (0, 1, 2)), ValueError, "two child"),
        (lambda: L.BinaryHierarchicalSoftmax.create_huffman_tree({}), ValueError, "vocabulary"),
        (lambda: L.TheanoFunction(1, 2), RuntimeError, "theano"),
        (lambda: L.ResNet50Layers().__class__, (NotImplementedError, OSError), "ResNet-50"),
    ],
)
def test_errors(make, error, match, tmp_path, monkeypatch):
    monkeypatch.setenv("CHAINER_DATASET_ROOT", str(tmp_path))
    with pytest.raises(error, match=match):
        make()


def test_linear_flattens_from_the_given_axis():
    link = L.Linear(None, 4)
    assert link(rand(2, 3, 5), n_batch_axes=2).shape == (2, 3, 4) and link.W.shape == (4, 5)
    with pytest.raises(chainer.utils.type_check.InvalidType):
        link(rand(2, 3, 5))


def test_batch_normalization_statistics():
    link = L.BatchNormalization(3)
    x = rand(5, 3)
    with chainer.using_config("train", False):
        np.testing.assert_allclose(link(x).array, x / np.sqrt(1 + 2e-5), rtol=1e-5)
    link(x)
    np.testing.assert_allclose(link.avg_mean, 0.1 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(link.avg_var, 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-5)
    link.start_finetuning()
    for n in (1, 2):
        link(x, finetune=True)
        assert link.N == n
    np.testing.assert_allclose(link.avg_mean, x.mean(0), rtol=1e-5)


def test_states():
    link = L.LSTM(3, 2)
    link(rand(4, 3))
    assert link.c.shape == link.h.shape == (4, 2)
    with pytest.raises(TypeError, match="batch size"):
        link(rand(5, 3))
    link(rand(2, 3))
    assert link.h.shape == (4, 2) and link.c.shape == (4, 2)
    link.reset_state()
    assert link.c is None and link.h is None
    c, h = chainer.Variable(rand(4, 2)), chainer.Variable(rand(2, 4).T.copy())
    link.set_state(c, h)
    assert link.c is c and link.h is h
    with pytest.raises(AssertionError):
        link.set_state(None, h)
    gru = L.GRU(3, 2)
    gru.set_state(h)
    assert gru(rand(4, 3)) is gru.h


def test_n_step_copies_share_no_lists():
    link = L.NStepLSTM(1, 2, 3, 0.0)
    other = link.copy("copy")
    assert other.ws[0][0] is other[0].w0 is not link[0].w0


def test_classifier_reports():
    link = L.Classifier(L.Linear(3, 4), label_key="t")
    reporter = chainer.Reporter()
    reporter.add_observer("main", link)
    with reporter:
        link(rand(6, 3), t=ints(6))
    assert sorted(reporter.observation) == ["main/accuracy", "main/loss"]
    link.compute_accuracy = False
    loss = link(rand(6, 3), t=ints(6))
    assert link.loss is loss and link.accuracy is None and link.y.shape == (6, 4)
    link = L.Classifier(chainer.Sequential(L.Linear(3, 4)), label_key=0)
    assert float(link(ints(6), rand(6, 3)).array) > 0


def test_hierarchical_softmax_tree():
    tree = L.BinaryHierarchicalSoftmax.create_huffman_tree({0: 8, 1: 5, 2: 6, 3: 4})
    assert tree == ((3, 1), (2, 0))


def test_crf_argmax():
    link = L.CRF1d(2)
    link.cost.array[...] = f32([[2, 0], [0, 2]])
    xs = [f32([[1, 0], [0, 3]]), f32([[0, 1]]), f32([[1, 0]])]
    score, path = link.argmax([f32([[1, 0]]), f32([[0, 1]]), f32([[1, 0]])])
    np.testing.assert_array_equal(np.concatenate(path), [0, 0, 0])
    np.testing.assert_allclose(score.array if hasattr(score, "array") else score, [6])
    _, paths = link.argmax(xs, transpose=True)
    assert [len(p) for p in paths] == [2, 1, 1]
    np.testing.assert_array_equal(paths[1], [1])


def test_vision_models_are_defined():
    model = L.GoogLeNet(None)
    assert model.available_layers[-3:] == ["prob", "loss1_fc2", "loss2_fc2"]
    block = L.model.vision.resnet.BuildingBlock(2, 4, 3, 8, 2, None, True)
    assert block(rand(1, 4, 6, 6)).shape == (1, 8, 3, 3)
    assert block.a.conv1.stride == (1, 1) and block.a.conv2.stride == (2, 2)


if __name__ == "__main__":  # records the results, with an interpreter that has the original
    assert ORIGINAL
    seen = {name: {key: pack(value) for key, value in run(name).items()} for name in CASES}
    files.write(GOLDEN, seen, files.versions("chainer"))
