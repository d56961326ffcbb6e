"""One network of several frontends: one backward reaches all parameters."""

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop


@pytest.fixture(autouse=True)
def clean():
    nn.clear_parameters()
    yield
    nn.set_auto_forward(False)
    nn.clear_parameters()


class Mixed:
    """A Chainer link, an nnabla parametric function, a Gluon block and a torch layer in sequence."""

    def __init__(self):
        rng = np.random.RandomState(0)
        mx.random.seed(0)
        torch.manual_seed(0)
        self.x = chainer.Variable(rng.rand(5, 3).astype("f"))
        self.link = L.Linear(3, 4)
        self.link.cleargrads()
        self.block = mx.gluon.nn.Dense(2, in_units=4)
        self.block.initialize(mx.init.Normal(1))
        self.layer = torch.nn.Linear(2, 1)

    def loss(self):
        h = F.tanh(self.link(self.x))
        with nn.parameter_scope("net"):
            h = NF.sigmoid(PF.affine(h, 4))
        with mx.autograd.record():
            y = interop.call(self.layer, self.block(h))
            return (y * y).mean()

    def places(self):
        """Yield each weight's memory, and a function that returns the gradient of its first element after backward."""
        w, weight = nn.get_parameters()["net/affine/W"], self.block.weight.data()
        yield self.link.W.array, lambda: self.link.W.grad[0, 0]
        yield w.d, lambda: w.g[0, 0]
        yield weight.tensor, lambda: weight.grad[0, 0].asscalar()
        yield self.layer.weight.data, lambda: self.layer.weight.grad[0, 0].item()
        yield self.x.array, lambda: self.x.grad[0, 0]


@pytest.mark.parametrize("static", [False, True])
def test_one_backward_reaches_all(static):
    nn.set_auto_forward(not static)
    net = Mixed()
    loss = net.loss()
    assert isinstance(loss, mx.nd.NDArray)
    loss.backward()
    got = [gradient() for _, gradient in net.places()]
    for (memory, _), g in zip(net.places(), got, strict=True):
        values, old = [], memory[0, 0].item()
        for step in (1e-2, -1e-2):
            memory[0, 0] = old + step
            values.append(float(net.loss().asscalar()))
        memory[0, 0] = old
        assert g == pytest.approx((values[0] - values[1]) / 2e-2, rel=0.02, abs=1e-5)


@pytest.mark.parametrize("static", [False, True])
def test_backward_of_nnabla_continues_into_other_frontends(static):
    nn.set_auto_forward(not static)
    x = chainer.Variable(np.float32([1, 2, 3]))
    a, b = x * 2, x * 3
    y = NF.sum(NF.mul2(a, b) + NF.add2(a, a))  # 6 x ** 2 + 4 x
    y.forward()
    assert y.d == 6 * 14 + 4 * 6
    y.backward()
    assert x.grad.tolist() == [16, 28, 40]
    x.cleargrad()
    compatgrad.backward(y)
    assert x.grad.tolist() == [16, 28, 40]


def test_a_write_request_gets_the_sum():
    nn.set_auto_forward(True)
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        a, b = x * 2, x * x
    NF.sum(NF.add2(a, b)).backward()
    assert x.grad.asnumpy().tolist() == [4, 6]


def test_a_static_graph_reads_its_sources_each_time():
    x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
    y = NF.sum(NF.pow_scalar(interop.to("nnabla", x), 2))
    y.forward()
    assert y.d == 5
    x.tensor = torch.tensor([3.0, 4.0])
    y.forward()
    y.backward()
    assert y.d == 25 and x.grad.tolist() == [6, 8]


def test_leaves_of_nnabla_accumulate():
    v = nn.Variable.from_numpy_array(np.float32([1, 2]), need_grad=True)
    v.grad.zero()
    for _ in range(2):
        F.sum(F.square(interop.to("chainer", v))).backward()
    assert v.g.tolist() == [4, 8]


def test_types_and_places():
    x = chainer.Variable(np.float32([1, 2]))
    y = interop.to("mxnet", x * 3)
    assert isinstance(y, mx.nd.NDArray)
    z = interop.to("compatgrad", y)
    (z * z).sum().backward()
    assert x.grad.tolist() == [18, 36]
    assert interop.to("chainer", x) is x
    with pytest.raises(TypeError, match="interop.to: x: expected a Variable or a tensor, got ndarray"):
        interop.to("chainer", np.ones(2))
    with pytest.raises(ValueError, match="frontend: expected one of .*, got 'jax'"):
        interop.to("jax", x)
    for frontend in ("torch", "mxnet", "nnabla"):
        with pytest.raises(ValueError, match="interop.to: x: expected a Variable with a value, got one of chainer"):
            interop.to(frontend, chainer.Parameter())
    with pytest.raises(TypeError, match="shape: expected a tuple of int, got a tensor"):
        nn.Variable(torch.ones(3))


@pytest.mark.parametrize("static", [False, True])
def test_a_write_request_gets_the_sum_of_both_ways(static):
    nn.set_auto_forward(not static)
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        a = x * 2
        y = interop.to("mxnet", NF.pow_scalar(a, 2)) + a * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [14, 22]


class Cell(mx.gluon.Block):
    def forward(self, x):
        return mx.nd.concat(mx.nd.square(x), mx.nd.elemwise_mul(x, x), dim=1)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("kind", ["chainer", "nnabla", "compatgrad"])
def test_gluon_blocks_and_operators_take_the_others_variables(kind, static):
    nn.set_auto_forward(not static)
    rng = np.random.RandomState(0)
    x = chainer.Variable(rng.rand(4, 3).astype("f"))
    hybrid = mx.gluon.nn.HybridSequential()
    hybrid.add(mx.gluon.nn.Dense(2), mx.gluon.nn.BatchNorm())
    hybrid.initialize(mx.init.Normal(1))
    for block in (hybrid, Cell(), mx.nd.sum):
        found = []
        for as_it_is in (True, False):
            x.cleargrad()
            h = interop.to(kind, F.exp(x))
            with mx.autograd.record():
                y = block(h if as_it_is else interop.to("mxnet", h))
                loss = mx.nd.sum(y * y * y)
            assert isinstance(y, mx.nd.NDArray)
            loss.backward()
            found.append((y.asnumpy(), x.grad))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])
        assert np.abs(x.grad).max() > 0
    with pytest.raises(AssertionError, match="argument data must have NDArray type"):
        mx.nd.sum(np.ones(3))
    with pytest.raises(ValueError, match="there must be one NDArray"):
        hybrid(np.ones((4, 3), "f"))


@pytest.mark.parametrize("static", [False, True])
def test_torch_parameters_inside_nnabla(static):
    nn.set_auto_forward(not static)
    layer = torch.nn.Linear(2, 1, bias=False)
    x = nn.Variable.from_numpy_array(np.float32([[1, 2], [3, 4]]), need_grad=True)
    x.grad.zero()
    y = NF.sum(NF.pow_scalar(interop.call(layer, x), 2))
    y.forward()
    y.backward()
    w, t = layer.weight.detach().clone().requires_grad_(), torch.tensor([[1.0, 2], [3, 4]], requires_grad=True)
    torch.nn.functional.linear(t, w).pow(2).sum().backward()
    torch.testing.assert_close(layer.weight.grad, w.grad)
    np.testing.assert_allclose(x.g, t.grad.numpy(), rtol=1e-5)
