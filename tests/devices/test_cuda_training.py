"""A few steps of training of each frontend on a GPU give what they give on the CPU.

The CPU against itself is a case too, so that the tests are tested where there is no GPU.
"""

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
import compatgrad.nnabla.solvers as S
from compatgrad.mxnet import autograd, gluon
from compatgrad.nnabla.ext_utils import get_extension_context

no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
places = pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, no_gpu])])
STEPS = 3


def batches():
    random = np.random.RandomState(0)
    return [(random.randn(8, 1, 8, 8).astype(np.float32), random.randint(0, 5, 8)) for _ in range(STEPS)]


def agree(here, there, place):
    """Convolutions of a GPU may be computed with TF32's ten bits unless that is off, as it is in these tests."""
    assert here.keys() == there.keys() and all(np.isfinite(v).all() for v in here.values())
    for k, v in here.items():
        np.testing.assert_allclose(there[k], v, rtol=2e-3, atol=2e-4, err_msg=k)
        if place == "cpu":
            np.testing.assert_array_equal(there[k], v, err_msg=k)


@pytest.fixture(autouse=True)
def _whole_floats():
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def train_chainer(device, optimizer):
    np.random.seed(0)
    model = chainer.Sequential(
        L.Convolution2D(1, 4, 3, nobias=True), L.BatchNormalization(4), F.relu, lambda x: F.max_pooling_2d(x, 2),
        L.Linear(36, 16), F.tanh, L.Linear(16, 5),
    )  # fmt: skip
    model.to_device(device)
    optimizer = optimizer().setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(5.0))
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-3))
    found = {}
    for k, (x, t) in enumerate(batches()):
        x, t = device.send((x, t.astype(np.int32)))
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        found[f"loss {k}"] = chainer.backends.cuda.to_cpu(loss.array)
    assert all(p.device == device for p in model.params())
    found.update((name, chainer.backends.cuda.to_cpu(p.array)) for name, p in model.namedparams())
    return found


@places
@pytest.mark.parametrize("optimizer", ["Adam", "MomentumSGD", "RMSprop"])
def test_chainer(place, optimizer):
    if place == "cuda" and not chainer.backends.cuda.available:
        pytest.skip("CuPy cannot be used")
    optimizer = getattr(chainer.optimizers, optimizer)
    there = chainer.get_device("@cupy:0" if place == "cuda" else "@numpy")
    agree(train_chainer(chainer.get_device("@numpy"), optimizer), train_chainer(there, optimizer), place)


@places
def test_chainer_lstm(place):
    if place == "cuda" and not chainer.backends.cuda.available:
        pytest.skip("CuPy cannot be used")

    def run(device):
        np.random.seed(1)
        link = L.LSTM(6, 16)
        link.to_device(device)
        x = [chainer.Variable(device.send(b[0][:, 0, 0, :6])) for b in batches()]
        y = F.sum(sum(F.sin(link(step)) for step in x))
        link.cleargrads()
        y.backward()
        to_cpu = chainer.backends.cuda.to_cpu
        found = {f"gradient of step {k}": to_cpu(v.grad) for k, v in enumerate(x)}
        return {"y": to_cpu(y.array), **found, **{n: to_cpu(p.grad) for n, p in link.namedparams()}}

    there = chainer.get_device("@cupy:0" if place == "cuda" else "@numpy")
    agree(run(chainer.get_device("@numpy")), run(there), place)


def train_nnabla(context, solver):
    nn.clear_parameters()
    random = np.random.RandomState(2)
    x, t = nn.Variable((8, 1, 8, 8)), nn.Variable((8, 1))
    with nn.context_scope(context):
        h = PF.convolution(x, 4, (3, 3), with_bias=False, rng=random)
        h = NF.max_pooling(NF.relu(PF.batch_normalization(h)), (2, 2))
        h = PF.affine(h, 5, w_init=random.randn(36, 5) * 0.1)
        loss = NF.mean(NF.softmax_cross_entropy(h, t))
    solver.set_parameters(nn.get_parameters())
    found = {}
    for k, (images, labels) in enumerate(batches()):
        x.d, t.d = images, labels[:, None]
        solver.zero_grad()
        loss.forward(clear_no_need_grad=True)
        loss.backward(clear_buffer=True)
        solver.clip_grad_by_norm(2.0)
        solver.weight_decay(1e-3)
        assert not solver.check_inf_or_nan_grad()
        solver.update()
        found[f"loss {k}"] = loss.d.copy()
    found.update((name, p.d.copy()) for name, p in nn.get_parameters(grad_only=False).items())
    nn.clear_parameters()
    return found


@places
@pytest.mark.parametrize("solver", ["Adam", "Momentum", "Lamb", "Lars"])
def test_nnabla(place, solver):
    there = get_extension_context("cudnn") if place == "cuda" else nn.Context()
    make = getattr(S, solver)
    agree(train_nnabla(nn.Context(), make()), train_nnabla(there, make()), place)


def train_mxnet(ctx, optimizer):
    mx.random.seed(3)
    net = gluon.nn.Sequential()
    net.add(
        gluon.nn.Conv2D(4, 3, in_channels=1, use_bias=False), gluon.nn.BatchNorm(in_channels=4),
        gluon.nn.Activation("relu"), gluon.nn.MaxPool2D(), gluon.nn.Dense(5, in_units=36),
    )  # fmt: skip
    net.initialize(ctx=mx.cpu())
    random = np.random.RandomState(4)
    for p in net.collect_params().values():  # the same on every device
        p.set_data(mx.nd.array(random.rand(*p.shape) * 0.3 + 0.1))
    net.collect_params().reset_ctx(ctx)
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"wd": 1e-3, "clip_gradient": 1.0})
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()
    found = {}
    for k, (x, t) in enumerate(batches()):
        x, t = mx.nd.array(x, ctx=ctx), mx.nd.array(t, ctx=ctx)
        with autograd.record():
            loss = criterion(net(x), t)
        loss.backward()
        trainer.step(8)
        found[f"loss {k}"] = loss.asnumpy()
    for k, p in enumerate(net.collect_params().values()):
        assert p.list_ctx() == [ctx]
        found[f"parameter {k}"] = p.data(ctx).asnumpy()
    return found


@places
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "lamb"])
def test_mxnet(place, optimizer):
    agree(train_mxnet(mx.cpu(), optimizer), train_mxnet(mx.gpu(0) if place == "cuda" else mx.cpu(), optimizer), place)
