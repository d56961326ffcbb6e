"""torch's gradcheck and gradgradcheck of the engine's ops, links, blocks and functions."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import _C, interop
from compatgrad.mxnet import gluon
from tests.ops.all_samples import SAMPLES, writes_inputs
from tests.ops.harness import Floats as A
from tests.ops.harness import Sample


def check(function, inputs, **tolerances):
    """Run gradcheck and gradgradcheck along one random direction each."""
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True, **tolerances)
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True, **tolerances)


def check_with_parameters(module, inputs, **tolerances):
    """Run both checks by the inputs and by all parameters of the module."""
    names = [n for n, _ in module.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in module.parameters()]
    n = len(inputs)

    def run(*given):
        return torch.func.functional_call(module, dict(zip(names, given[n:], strict=True)), given[:n])

    check(run, (*inputs, *values), **tolerances)


def tensors(inputs, seed=0, dtype=torch.float64):
    """Tensors of random numbers that need a gradient for entries of class A; other arrays unchanged."""
    rng = np.random.default_rng(seed)
    return tuple(
        torch.tensor(x.draw(rng), dtype=dtype, requires_grad=True) if isinstance(x, A) else torch.as_tensor(x)
        for x in inputs
    )


SINGLE = {"eps": 1e-2, "atol": 1e-2, "rtol": 2e-2}  # tolerances for float32


def cases(table):
    return pytest.mark.parametrize("function, inputs", [(f, x) for f, *x in table.values()], ids=list(table))


# ---- ops -----------------------------------------------------------------------------------------------------------
def float_outputs(sample: Sample) -> list:
    """The positions of outputs with a floating dtype."""
    return [j for j, y in enumerate(sample.run(sample.variables(sample.arrays()))) if y.tensor.is_floating_point()]


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.targets and float_outputs(s)], ids=str)
def test_ops(sample):
    writes = writes_inputs(sample)

    def run(*xs):
        if writes:  # the op writes to these inputs, so each run needs copies
            xs = [_C.Variable(x.tensor.clone(), False) if i not in sample.targets else x for i, x in enumerate(xs)]
        return tuple(sample.run(xs))

    plain = torch.contiguous_format  # NumPy's empty arrays have strides of 0, which torch's check refuses
    inputs = [None if a is None else torch.as_tensor(a).clone(memory_format=plain) for a in sample.arrays()]
    for i in sample.targets:
        inputs[i].requires_grad_()
    check(interop.as_torch_module(run, frontend="compatgrad"), inputs)


def test_a_wrong_derivative_is_detected():
    x = tensors([A(3)])
    tanh = interop.as_torch_module(_C.op("tanh"), frontend="compatgrad")
    check(tanh, x)
    _C.register("tanh", lambda node, gys: [gys[0]])
    try:
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            check(tanh, x)
    finally:
        _C.register("tanh", None)
    check(tanh, x)


# ---- functions of the frontends --------------------------------------------------------------------------------------
IDS = np.array([2, 0, 1])
MASK = np.array([[2.0, 0.0, 2.0], [0.0, 2.0, 2.0]])
BOXES = np.float32([[0.5, 0.5, 4.1, 4.2], [1.2, 0.3, 3.4, 3.9]])
BOX_IDS = np.array([0, 0], "i")
POSITIVE = {"low": 0.2, "high": 1.0}


def triangular(x):
    """A positive definite matrix."""
    return F.matmul(x, x, transb=True) + np.eye(x.shape[0])


def n_step_lstm(h, c, x, w, b):
    ws, bs = [[F.reshape(v, v.shape[1:]) for v in F.split_axis(w, 8, 0)]], [[b[k] for k in range(8)]]
    h, c, ys = F.n_step_lstm(1, 0.0, h, c, ws, bs, [x[0], x[1], x[2, :1]])
    return h, c, *ys


def n_step_bigru(h, x, w, u, b):
    ws = [[(w[3 * d + j] if j < 3 else u[3 * d + j - 3]) for j in range(6)] for d in range(2)]
    h, ys = F.n_step_bigru(1, 0.0, h, ws, [[b[d, j] for j in range(6)] for d in range(2)], [x[0], x[1], x[2, :1]])
    return h, *ys


CHAINER = {
    # activation
    "clipped_relu": (lambda x: F.clipped_relu(x, 0.7), A(3, 4)),
    "crelu": (F.crelu, A(2, 3)),
    "elu": (F.elu, A(3, 4)),
    "hard_sigmoid": (F.hard_sigmoid, A(3, 4, low=-4, high=4)),
    "leaky_relu": (F.leaky_relu, A(3, 4)),
    "log_softmax": (F.log_softmax, A(3, 4)),
    "lstm": (F.lstm, A(2, 3), A(2, 12)),
    "maxout": (lambda x: F.maxout(x, 2), A(3, 4)),
    "prelu": (F.prelu, A(2, 3, 2), A(3)),
    "relu6": (F.relu6, A(3, 4, low=-2, high=8)),
    "rrelu": (lambda x: F.rrelu(x, r=np.full(x.shape, 0.2)), A(3, 4)),
    "selu": (F.selu, A(3, 4)),
    "slstm": (F.slstm, A(2, 3), A(2, 3), A(2, 12), A(2, 12)),
    "softmax": (lambda x: F.softmax(x, axis=0), A(3, 4)),
    "softplus": (lambda x: F.softplus(x, 2.0), A(3, 4)),
    "swish": (F.swish, A(2, 3), A(3)),
    "tree_lstm": (F.tree_lstm, A(2, 3), A(2, 3), A(2, 15)),
    # array
    "as_strided": (lambda x: F.as_strided(x, (3, 2), (2, 1), 1), A(3, 4)),
    "concat": (lambda x, y: F.concat([x, y]), A(2, 3), A(2, 1)),
    "depth2space": (lambda x: F.depth2space(x, 2), A(1, 4, 2, 3)),
    "get_item": (lambda x: x[::2, [0, 2, 2]], A(4, 3)),
    "im2col": (lambda x: F.im2col(x, 2), A(1, 2, 4, 4)),
    "pad": (lambda x: F.pad(x, ((1, 0), (0, 2)), "constant"), A(2, 3)),
    "pad_sequence": (lambda x, y: F.pad_sequence([x, y]), A(2, 3), A(4, 3)),
    "permutate": (lambda x: F.permutate(x, IDS.astype("i")), A(3, 2)),
    "repeat": (lambda x: F.repeat(x, (1, 2, 0), axis=1), A(2, 3)),
    "select_item": (lambda x: F.select_item(x, IDS), A(3, 3)),
    "separate": (F.separate, A(3, 2)),
    "spatial_transformer_grid": (lambda x: F.spatial_transformer_grid(x, (3, 4)), A(2, 2, 3)),
    "spatial_transformer_sampler": (F.spatial_transformer_sampler, A(1, 2, 4, 4), A(1, 2, 3, 2, low=-0.8, high=0.8)),
    "split_axis": (lambda x: F.split_axis(x, [1, 3], 1), A(2, 4)),
    "tile": (lambda x: F.tile(x, (2, 1, 2)), A(2, 3)),
    "transpose_sequence": (lambda x, y: F.transpose_sequence([x, y]), A(3, 2), A(2, 2)),
    "where": (lambda x, y: F.where(MASK > 0, x, y), A(2, 3), A(2, 3)),
    # connection
    "convolution_2d": (lambda x, w, b: F.convolution_2d(x, w, b, 2, 1, dilate=1), A(2, 2, 5, 4), A(3, 2, 3, 2), A(3)),
    "convolution_nd": (F.convolution_nd, A(1, 2, 3, 4, 3), A(2, 2, 2, 2, 2), A(2)),
    "deconvolution_2d": (lambda x, w, b: F.deconvolution_2d(x, w, b, 2, 1), A(1, 2, 3, 3), A(2, 3, 3, 3), A(3)),
    "deformable_convolution_2d": (
        lambda x, o, w, b: F.deformable_convolution_2d_sampler(x, o, w, b),
        A(1, 2, 4, 4),
        A(1, 8, 3, 3, low=0.1, high=0.4),
        A(2, 2, 2, 2),
        A(2),
    ),
    "depthwise_convolution_2d": (F.depthwise_convolution_2d, A(1, 2, 4, 4), A(2, 2, 2, 2), A(4)),
    "embed_id": (lambda w: F.embed_id(IDS, w), A(4, 3)),
    "linear": (F.linear, A(2, 3), A(4, 3), A(4)),
    "local_convolution_2d": (F.local_convolution_2d, A(1, 2, 3, 3), A(2, 2, 2, 2, 2, 2), A(2, 2, 2)),
    "shift": (lambda x: F.shift(x, 3, 1), A(1, 9, 3, 3)),
    # loss
    "bernoulli_nll": (F.bernoulli_nll, A(2, 3), A(2, 3)),
    "connectionist_temporal_classification": (
        lambda x: F.connectionist_temporal_classification([x[0], x[1], x[2]], np.array([[1], [2]], "i"), 0),
        A(3, 2, 3),
    ),
    "contrastive": (lambda x, y: F.contrastive(x, y, np.array([0, 1, 0])), A(3, 4), A(3, 4)),
    "crf1d": (lambda c, x: F.crf1d(c, [x[0], x[1]], [np.array([0, 1]), np.array([2, 0])]), A(3, 3), A(2, 2, 3)),
    "cross_covariance": (F.cross_covariance, A(4, 2), A(4, 3)),
    "decov": (F.decov, A(4, 3)),
    "gaussian_kl_divergence": (F.gaussian_kl_divergence, A(2, 3), A(2, 3)),
    "gaussian_nll": (F.gaussian_nll, A(2, 3), A(2, 3), A(2, 3)),
    "hinge": (lambda x: F.hinge(x, IDS, norm="L2"), A(3, 4)),
    "huber_loss": (lambda x, t: F.huber_loss(x, t, 0.5), A(2, 3), A(2, 3)),
    "mean_absolute_error": (F.mean_absolute_error, A(2, 3), A(2, 3)),
    "mean_squared_error": (F.mean_squared_error, A(2, 3), A(2, 3)),
    "negative_sampling": (
        lambda x, w: F.negative_sampling(x, IDS.astype("i"), w, lambda s: np.zeros(s, "i"), 2),
        A(3, 2),
        A(4, 2),
    ),
    "sigmoid_cross_entropy": (lambda x: F.sigmoid_cross_entropy(x, (MASK > 0).astype("i")), A(2, 3)),
    "softmax_cross_entropy": (lambda x: F.softmax_cross_entropy(x, IDS), A(3, 4)),
    "triplet": (F.triplet, A(3, 4), A(3, 4), A(3, 4)),
    # math
    "arctan2": (F.arctan2, A(2, 3), A(2, 3, **POSITIVE)),
    "average": (lambda x, w: F.average(x, 1, w), A(2, 3), A(3, **POSITIVE)),
    "batch_inv": (lambda x: F.batch_inv(x + 2 * np.eye(3)), A(2, 3, 3)),
    "cholesky": (lambda x: F.cholesky(triangular(x)), A(3, 3)),
    "clip": (lambda x: F.clip(x, -0.5, 0.5), A(3, 4)),
    "cumprod": (lambda x: F.cumprod(x, 1), A(2, 3)),
    "det": (lambda x: F.batch_det(x + np.eye(3)), A(2, 3, 3)),
    "einsum": (lambda x, y: F.einsum("ij,jk,k->ik", x, y, y[0]), A(2, 3), A(3, 2)),
    "erfcx": (F.erfcx, A(3)),
    "fft": (lambda x, y: F.fft((x, y)), A(2, 4), A(2, 4)),
    "fmod": (F.fmod, A(2, 3), A(2, 3, low=2, high=3)),
    "lgamma": (F.lgamma, A(3, low=1, high=3)),
    "logsumexp": (lambda x: F.logsumexp(x, axis=1), A(2, 3)),
    "matmul": (F.matmul, A(2, 2, 3), A(2, 3, 2)),
    "max": (lambda x: F.max(x, axis=(0, 2)), A(2, 3, 2)),
    "maximum": (F.maximum, A(2, 3), A(2, 3)),
    "prod": (lambda x: F.prod(x, 1), A(2, 3)),
    "sparse_matmul": (lambda x: F.sparse_matmul(chainer.utils.to_coo(MASK), x), A(3, 2)),
    "tensordot": (lambda x, y: F.tensordot(x, y, 1), A(2, 3), A(3, 2)),
    "zeta": (lambda q: F.zeta(np.full(q.shape, 2.5), q), A(3, low=1, high=3)),
    # noise with given masks
    "dropout": (lambda x: F.dropout(x, 0.5, mask=MASK), A(2, 3)),
    "simplified_dropconnect": (
        lambda x, w: F.simplified_dropconnect(x, w, ratio=0.5, mask=np.ones((2, 4, 3)) > 0),
        A(2, 3),
        A(4, 3),
    ),
    # normalization
    "batch_normalization": (F.batch_normalization, A(4, 3), A(3), A(3)),
    "decorrelated_batch_normalization": (lambda x: F.decorrelated_batch_normalization(x, groups=1), A(5, 2)),
    "fixed_batch_normalization": (F.fixed_batch_normalization, A(4, 3), A(3), A(3), A(3), A(3, **POSITIVE)),
    "group_normalization": (lambda x, g, b: F.group_normalization(x, 2, g, b), A(2, 4, 3), A(4), A(4)),
    "layer_normalization": (F.layer_normalization, A(2, 3), A(3), A(3)),
    "local_response_normalization": (F.local_response_normalization, A(1, 6, 2, 2)),
    "normalize": (F.normalize, A(2, 3)),
    # pooling
    "average_pooling_2d": (lambda x: F.average_pooling_2d(x, 2, 1, 1), A(1, 2, 3, 3)),
    "max_pooling_2d": (lambda x: F.max_pooling_2d(x, 2, 2, 1), A(1, 2, 4, 4)),
    "max_pooling_nd": (lambda x: F.max_pooling_nd(x, 2), A(1, 1, 4, 2, 2)),
    "spatial_pyramid_pooling_2d": (lambda x: F.spatial_pyramid_pooling_2d(x, 2, pooling="max"), A(1, 2, 4, 4)),
    "unpooling_2d": (lambda x: F.unpooling_2d(x, 2), A(1, 2, 2, 2)),
    "upsampling_2d": (lambda x: F.upsampling_2d(x, np.zeros((1, 1, 2, 2), "i"), 2, 2), A(1, 1, 2, 2)),
    # rnn
    "n_step_lstm": (n_step_lstm, A(1, 2, 2), A(1, 2, 2), A(3, 2, 2), A(8, 2, 2), A(8, 2)),
    "n_step_bigru": (n_step_bigru, A(2, 2, 2), A(3, 2, 3), A(6, 2, 3), A(6, 2, 2), A(2, 6, 2)),
}

CHAINER_SINGLE = {  # functions that Chainer has for float32 only
    "bilinear": (F.bilinear, A(2, 3), A(2, 4), A(3, 4, 2), A(3, 2), A(4, 2), A(2)),
    "resize_images": (lambda x: F.resize_images(x, (5, 3)), A(1, 2, 4, 4)),
    "roi_average_align_2d": (lambda x: F.roi_average_align_2d(x, BOXES, BOX_IDS, 2, 1.0, 2), A(1, 2, 5, 5)),
    "roi_max_align_2d": (lambda x: F.roi_max_align_2d(x, BOXES, BOX_IDS, 2, 1.0, 2), A(1, 2, 5, 5)),
}


@cases(CHAINER)
def test_chainer_functions(function, inputs):
    check(interop.as_torch_module(function, frontend="chainer"), tensors(inputs))


@pytest.mark.filterwarnings("ignore:Input .* is not a double precision")
@cases(CHAINER_SINGLE)
def test_chainer_functions_of_float32(function, inputs):
    check(interop.as_torch_module(function, frontend="chainer"), tensors(inputs, dtype=torch.float32), **SINGLE)


# ---- links, with their parameters ------------------------------------------------------------------------------------
def stateful(link):
    """A chain of three steps of a stateful link, starting without a state."""

    class Steps(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.link = link

        def forward(self, x):
            self.link.reset_state()
            return [self.link(x[k]) for k in range(3)]

    return Steps()


def n_step(link):
    """A chain that calls a sequence link with two sequences of different lengths."""

    class Steps(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.link = link

        def forward(self, x, y):
            *states, ys = self.link(*[None] * (2 if "LSTM" in type(link).__name__ else 1), [x, y])
            return *states, *ys

    return Steps()


LINKS = {
    "BatchNormalization": (lambda: L.BatchNormalization(3, eps=1e-2), A(4, 3)),
    "Bias": (lambda: L.Bias(1, (3,)), A(4, 3)),
    "ConvolutionND": (lambda: L.ConvolutionND(3, 2, 2, 2), A(1, 2, 3, 3, 3)),
    "Convolution2D": (lambda: L.Convolution2D(2, 4, 3, 2, 1, groups=2), A(1, 2, 5, 5)),
    "Deconvolution2D": (lambda: L.Deconvolution2D(2, 3, 3, 2, 1), A(1, 2, 3, 3)),
    "DepthwiseConvolution2D": (lambda: L.DepthwiseConvolution2D(2, 2, 3), A(1, 2, 4, 4)),
    "DilatedConvolution2D": (lambda: L.DilatedConvolution2D(2, 2, 2, dilate=2), A(1, 2, 4, 4)),
    "EmbedID": (lambda: L.EmbedID(4, 3, ignore_label=-1), np.array([[0, 2], [-1, 2]])),
    "GRU": (lambda: stateful(L.GRU(2, 3)), A(3, 2, 2)),
    "GroupNormalization": (lambda: L.GroupNormalization(2, 4), A(2, 4, 3)),
    "Highway": (lambda: L.Highway(3, activate=F.tanh), A(2, 3)),
    "LSTM": (lambda: stateful(L.LSTM(2, 3)), A(3, 2, 2)),
    "LayerNormalization": (lambda: L.LayerNormalization(3), A(2, 3)),
    "Linear": (lambda: L.Linear(6, 4), A(2, 3, 2)),
    "LocalConvolution2D": (lambda: L.LocalConvolution2D(2, 2, (3, 3), 2), A(1, 2, 3, 3)),
    "Maxout": (lambda: L.Maxout(3, 2, 2), A(2, 3)),
    "NStepGRU": (lambda: n_step(L.NStepGRU(2, 2, 3, 0.0)), A(3, 2), A(2, 2)),
    "NStepBiLSTM": (lambda: n_step(L.NStepBiLSTM(1, 2, 3, 0.0)), A(3, 2), A(2, 2)),
    "PReLU": (lambda: L.PReLU((3,)), A(2, 3)),
    "Scale": (lambda: L.Scale(1, (3,), bias_term=True), A(2, 3)),
    "Sequential": (lambda: chainer.Sequential(L.Linear(3, 4), F.sigmoid, L.Linear(4, 2)), A(2, 3)),
    "StatefulPeepholeLSTM": (lambda: stateful(L.StatefulPeepholeLSTM(2, 3)), A(3, 2, 2)),
    "StatelessLSTM": (lambda: L.StatelessLSTM(2, 3), A(2, 3), A(2, 3), A(2, 2)),
    "Swish": (lambda: L.Swish((3,)), A(2, 3)),
}


@cases(LINKS)
def test_chainer_links(function, inputs):
    np.random.seed(0)
    with chainer.using_config("dtype", np.float64):
        module = interop.as_torch_module(function())
    assert any(True for _ in module.parameters())
    check_with_parameters(module, tensors(inputs))


# ---- Gluon, with parameters ------------------------------------------------------------------------------------------
def gluon_rnn(layer):
    """A block that calls a recurrent layer with given initial states."""

    class Steps(gluon.Block):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x, *states):
            y, states = self.layer(x, list(states))
            return y, *states

    return Steps()


BLOCKS = {
    "Dense": (lambda: gluon.nn.Dense(3, activation="tanh"), A(2, 4)),
    "Conv1D": (lambda: gluon.nn.Conv1D(3, 2, strides=2, padding=1), A(1, 2, 5)),
    "Conv2D": (lambda: gluon.nn.Conv2D(4, 3, groups=2, dilation=1), A(1, 2, 4, 4)),
    "Conv3DTranspose": (lambda: gluon.nn.Conv3DTranspose(2, 2, strides=2), A(1, 2, 2, 2, 2)),
    "MaxPool2D": (lambda: gluon.nn.MaxPool2D(2, 2, ceil_mode=True), A(1, 2, 5, 5)),
    "AvgPool2D": (lambda: gluon.nn.AvgPool2D(3, 2, 1, count_include_pad=False), A(1, 2, 5, 5)),
    "GlobalAvgPool1D": (lambda: gluon.nn.GlobalAvgPool1D(), A(2, 2, 5)),
    "BatchNorm": (lambda: gluon.nn.BatchNorm(epsilon=1e-2), A(4, 3)),
    "LayerNorm": (lambda: gluon.nn.LayerNorm(), A(2, 3)),
    "InstanceNorm": (lambda: gluon.nn.InstanceNorm(), A(2, 3, 4)),
    "GroupNorm": (lambda: gluon.nn.GroupNorm(2), A(2, 4, 3)),
    "Embedding": (lambda: gluon.nn.Embedding(4, 3), np.array([[0, 2], [1, 2]])),
    "PReLU": (lambda: gluon.nn.PReLU(), A(2, 3)),
    "ELU": (lambda: gluon.nn.ELU(), A(2, 3)),
    "GELU": (lambda: gluon.nn.GELU(), A(2, 3)),
    "SELU": (lambda: gluon.nn.SELU(), A(2, 3)),
    "Swish": (lambda: gluon.nn.Swish(), A(2, 3)),
    "ReflectionPad2D": (lambda: gluon.nn.ReflectionPad2D(1), A(1, 2, 3, 3)),
    "LSTM": (lambda: gluon_rnn(gluon.rnn.LSTM(2, bidirectional=True)), A(3, 2, 2), A(2, 2, 2), A(2, 2, 2)),
    "GRU": (lambda: gluon_rnn(gluon.rnn.GRU(2, num_layers=2)), A(3, 2, 2), A(2, 2, 2)),
    "RNN": (lambda: gluon_rnn(gluon.rnn.RNN(2, activation="tanh")), A(3, 2, 2), A(1, 2, 2)),
    "LSTMCell": (lambda: gluon_rnn(gluon.rnn.LSTMCell(2)), A(2, 2), A(2, 2), A(2, 2)),
    "GRUCell": (lambda: gluon_rnn(gluon.rnn.GRUCell(2)), A(2, 2), A(2, 2)),
    "L2Loss": (lambda: gluon.loss.L2Loss(), A(2, 3), A(2, 3)),
    "HuberLoss": (lambda: gluon.loss.HuberLoss(0.5), A(2, 3), A(2, 3)),
    "SoftmaxCrossEntropyLoss": (lambda: gluon.loss.SoftmaxCrossEntropyLoss(), A(3, 4), IDS),
    "SigmoidBinaryCrossEntropyLoss": (lambda: gluon.loss.SigmoidBinaryCrossEntropyLoss(), A(2, 3), MASK / 2),
    "KLDivLoss": (lambda: gluon.loss.KLDivLoss(from_logits=False), A(2, 3), A(2, 3, **POSITIVE)),
    "CTCLoss": (lambda: gluon.loss.CTCLoss("TNC"), A(4, 2, 3), np.array([[1.0], [0.0]])),
    "TripletLoss": (lambda: gluon.loss.TripletLoss(), A(2, 3), A(2, 3), A(2, 3)),
    "CosineEmbeddingLoss": (lambda: gluon.loss.CosineEmbeddingLoss(), A(2, 3), A(2, 3), np.array([1.0, -1.0])),
    "PoissonNLLLoss": (lambda: gluon.loss.PoissonNLLLoss(), A(2, 3), np.ones((2, 3))),
}


@cases(BLOCKS)
@pytest.mark.parametrize("hybrid", [False, True])
def test_gluon_blocks(function, inputs, hybrid):
    mx.random.seed(0)
    block = function()
    block.initialize(mx.init.Uniform(0.7))
    block.cast("float64")
    if hybrid:
        block.hybridize()
    values = tensors(inputs)
    module = interop.as_torch_module(block, example_inputs=values)
    check_with_parameters(module, values)


# ---- nnabla ----------------------------------------------------------------------------------------------------------
NNABLA = {
    "affine": (NF.affine, A(2, 3), A(3, 4), A(4)),
    "add2": (NF.add2, A(2, 3), A(2, 1)),
    "atan2": (NF.atan2, A(2, 3), A(2, 3, **POSITIVE)),
    "average_pooling": (lambda x: NF.average_pooling(x, (2, 2), pad=(1, 0)), A(1, 2, 4, 4)),
    "batch_det": (lambda x: NF.batch_det(x + nn.Variable.from_numpy_array(np.eye(3)[None])), A(2, 3, 3)),
    "batch_matmul": (lambda x, y: NF.batch_matmul(x, y, transpose_b=True), A(2, 2, 3), A(2, 4, 3)),
    "binary_cross_entropy": (NF.binary_cross_entropy, A(2, 3, low=0.2, high=0.8), A(2, 3, low=0.2, high=0.8)),
    "celu": (NF.celu, A(2, 3)),
    "concatenate": (lambda x, y: NF.concatenate(x, y, axis=1), A(2, 3), A(2, 1)),
    "convolution": (
        lambda x, w, b: NF.convolution(x, w, b, pad=(1, 1), stride=(2, 2)),
        A(1, 2, 5, 5),
        A(3, 2, 3, 3),
        A(3),
    ),
    "cumsum": (lambda x: NF.cumsum(x, 1, exclusive=True), A(2, 3)),
    "deconvolution": (lambda x, w: NF.deconvolution(x, w, stride=(2, 2)), A(1, 2, 3, 3), A(2, 3, 2, 2)),
    "deformable_convolution": (
        NF.deformable_convolution,
        A(1, 2, 5, 5),
        A(2, 2, 2, 2),
        A(1, 8, 5, 5, low=0.1, high=0.4),
    ),
    "div2": (NF.div2, A(2, 3), A(2, 3, **POSITIVE)),
    "einsum": (lambda x, y: NF.einsum(x, y, equation="ij,jk->ki"), A(2, 3), A(3, 2)),
    "gather_nd": (lambda x: NF.gather_nd(x, nn.Variable.from_numpy_array(np.array([[0, 1], [2, 2]]))), A(2, 3)),
    "gelu": (NF.gelu, A(2, 3)),
    "group_normalization": (lambda x, b, g: NF.group_normalization(x, b, g, 2), A(2, 4, 3), A(1, 4, 1), A(1, 4, 1)),
    "huber_loss": (lambda x, y: NF.huber_loss(x, y, 0.5), A(2, 3), A(2, 3)),
    "interpolate": (lambda x: NF.interpolate(x, output_size=(5, 3), mode="linear"), A(1, 1, 3, 4)),
    "layer_normalization": (NF.layer_normalization, A(2, 3), A(1, 3), A(1, 3)),
    "log_softmax": (NF.log_softmax, A(2, 3)),
    "max_pooling": (lambda x: NF.max_pooling(x, (2, 2)), A(1, 2, 4, 4)),
    "mean": (lambda x: NF.mean(x, axis=1, keepdims=True), A(2, 3)),
    "mish": (NF.mish, A(2, 3)),
    "norm": (lambda x: NF.norm(x, p=3, axis=1), A(2, 3)),
    "pad": (lambda x: NF.pad(x, (1, 2), mode="reflect"), A(2, 4)),
    "pow_scalar": (lambda x: NF.pow_scalar(x, 2.5), A(2, 3, **POSITIVE)),
    "prelu": (NF.prelu, A(2, 3), A(3)),
    "prod": (lambda x: NF.prod(x, axis=0), A(2, 3)),
    "scatter_nd": (lambda x: NF.scatter_nd(x, nn.Variable.from_numpy_array(np.array([[0, 2]])), shape=(4, 3)), A(2, 3)),
    "sigmoid_cross_entropy": (NF.sigmoid_cross_entropy, A(2, 3), (MASK > 0).astype("i")),
    "sinc": (NF.sinc, A(2, 3)),
    "slice": (lambda x: NF.slice(x, (0, 3), (2, 0), (1, -2)), A(2, 4)),
    "softmax_cross_entropy": (NF.softmax_cross_entropy, A(3, 4), IDS[:, None]),
    "split": (lambda x: NF.split(x, axis=1), A(2, 3)),
    "stack": (lambda x, y: NF.stack(x, y, axis=1), A(2, 3), A(2, 3)),
    "transpose": (lambda x: NF.transpose(x, (2, 0, 1)), A(2, 3, 2)),
    "warp_by_grid": (NF.warp_by_grid, A(1, 2, 4, 4), A(1, 2, 3, 2, low=-0.8, high=0.8)),
    "where": (lambda x, y: NF.where(NF.greater_scalar(x, 0.1), x, y), A(2, 3), A(2, 3)),
}


@pytest.mark.filterwarnings("ignore:Input .* is not a double precision")
@cases(NNABLA)
def test_nnabla_functions(function, inputs):
    """The inputs are float32, because nnabla computes in float32 for every dtype."""
    check(interop.as_torch_module(function, frontend="nnabla"), tensors(inputs, dtype=torch.float32), **SINGLE)


PARAMETRIC = {
    "affine": (lambda x: PF.affine(x, 3), A(2, 4)),
    "convolution": (lambda x: PF.convolution(x, 3, (3, 3), pad=(1, 1)), A(1, 2, 4, 4)),
    "batch_normalization": (lambda x: PF.batch_normalization(x, eps=1e-2), A(4, 3)),
    "layer_normalization": (lambda x: PF.layer_normalization(x, eps=1e-2), A(2, 4)),
    "prelu": (lambda x: PF.prelu(x, shared=False), A(2, 3)),
    "lstm_cell": (lambda x, h, c: PF.lstm_cell(x, h, c, 2), A(2, 3), A(2, 2), A(2, 2)),
    "embed": (lambda i: PF.embed(i, 4, 3), IDS),
}


@pytest.mark.filterwarnings("ignore:Input .* is not a double precision")
@cases(PARAMETRIC)
def test_nnabla_parametric_functions(function, inputs):
    nn.clear_parameters()
    values = tensors(inputs, dtype=torch.float32)
    with nn.auto_forward():  # creates the parameters
        function(*(nn.Variable.from_numpy_array(t.detach().numpy()) for t in values))
    module = interop.as_torch_module(function, nn.get_parameters())
    assert any(True for _ in module.parameters())
    check_with_parameters(module, values, **SINGLE)
    nn.clear_parameters()


def test_sequences_in_lists():
    """Lists of tensors are accepted, and returned for lists of results."""
    np.random.seed(0)
    with chainer.using_config("dtype", np.float64):
        module = interop.as_torch_module(L.NStepLSTM(1, 2, 3, 0.0))
    xs = tensors([A(3, 2), A(2, 2)])
    hx, cx, ys = module(None, None, list(xs))
    assert hx.shape == cx.shape == (1, 2, 3) and [y.shape for y in ys] == [(3, 3), (2, 3)]
    check(lambda *xs: tuple(module(None, None, list(xs))[2]), xs)
