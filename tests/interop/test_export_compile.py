"""interop.compile: compiled functions of Variables."""

import textwrap

import numpy as np
import pytest
import torch
from expecttest import assert_expected_inline

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop

X = torch.from_numpy(np.random.RandomState(0).rand(4, 3).astype("f"))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first, self.norm, self.last = L.Linear(3, 4), L.BatchNormalization(4), L.Linear(4, 2)

    def forward(self, x):
        return self.last(F.tanh(self.norm(self.first(x))))


def gradients(net, y, x):
    net.cleargrads()
    x.cleargrad()
    F.sum(y * y).backward()
    return [x.grad, *(p.grad for p in net.params())]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_chainer(backend):
    np.random.seed(0)  # with one in 25 seeds the gradient of a small batch is off by more than the tolerance
    net = Net()
    compiled = interop.compile(net, backend=backend)
    for n in (4, 7):
        x = chainer.Variable(np.random.rand(n, 3).astype("f"))
        mean = net.norm.avg_mean.copy()
        y = compiled(x)
        assert isinstance(y, chainer.Variable)
        moved = net.norm.avg_mean.copy()
        net.norm.avg_mean[:] = mean
        expected = net(x)
        np.testing.assert_allclose(moved, net.norm.avg_mean, atol=1e-6)
        np.testing.assert_allclose(y.array, expected.array, rtol=1e-4, atol=1e-5)
        for a, b in zip(gradients(net, y, x), gradients(net, expected, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert len(compiled.graphs) == 1
    with chainer.using_config("train", False):
        np.testing.assert_allclose(compiled(x.array).array, net(x).array, rtol=1e-4, atol=1e-5)
    assert len(compiled.graphs) == 2
    assert isinstance(compiled(X), torch.Tensor)


def test_a_compiled_function_sees_new_parameters():
    np.random.seed(0)  # for Chainer's initial values
    net = Net()
    compiled = interop.compile(net, backend="eager", example_inputs=X)
    assert len(compiled.graphs) == 1
    for p in net.params():
        p.array = p.array + 1
    np.testing.assert_allclose(compiled(X.numpy()).array, net(X.numpy()).array, rtol=1e-4)
    optimizer = chainer.optimizers.SGD(0.001).setup(net)
    losses = []
    for _ in range(5):
        optimizer.update(lambda: F.sum(compiled(X.numpy()) ** 2))
        losses.append(float(F.sum(net(X.numpy()) ** 2).array))
    assert losses[-1] < losses[0]


def test_compiled_gluon_and_nnabla():
    dense = mx.gluon.nn.Dense(2, in_units=3)
    dense.initialize()
    x = mx.nd.array(X.numpy())
    x.attach_grad()
    found = []
    for f in (dense, interop.compile(dense, backend="aot_eager")):
        with mx.autograd.record():
            y = (f(x) ** 2).sum()
        y.backward()
        found.append((y.asnumpy(), x.grad.asnumpy(), dense.weight.grad().asnumpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    w = nn.Variable.from_numpy_array(np.float32([[1, -1], [2, 0], [0, 3]]), need_grad=True)
    found = []

    def layer(x):
        return NF.relu(NF.affine(x, w))

    for f in (layer, interop.compile(layer, parameters={"w": w}, backend="aot_eager")):
        x = nn.Variable.from_numpy_array(X.numpy(), need_grad=True)
        y = NF.sum(f(x))
        y.forward()
        x.grad.zero(), w.grad.zero()
        y.backward()
        found.append((y.d.copy(), x.g.copy(), w.g.copy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_higher_derivatives_and_no_record():
    net = L.Linear(3, 2)
    compiled = interop.compile(net, backend="eager")
    x = chainer.Variable(X.numpy())
    found = []
    for f in (net, compiled):
        (gx,) = chainer.grad([F.sum(f(x) ** 3)], [x], enable_double_backprop=True)
        found.append(chainer.grad([F.sum(gx * gx)], [x])[0].array)
    np.testing.assert_allclose(*found, rtol=1e-4)
    with chainer.no_backprop_mode():
        assert compiled(x).creator_node is None
    with pytest.raises(RuntimeError, match="double backward"):  # torch's compiler has no second derivatives
        y = F.sum(interop.compile(net, backend="aot_eager")(x) ** 3)
        (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        chainer.grad([F.sum(gx * gx)], [x])


def test_compiled_functions_refuse_what_they_would_get_wrong():
    net = Net()

    def stops(x):
        h = net.first(x)
        h.unchain()
        return net.last(h)

    y = interop.compile(stops, parameters=net, backend="eager")(X.numpy())
    np.testing.assert_allclose(y.array, stops(X.numpy()).array, atol=1e-6)
    with pytest.raises(interop.ExportError) as e:
        F.sum(y).backward()
    assert_expected_inline(
        textwrap.fill(str(e.value), 110) + "\n",
        """\
interop.compile: the gradient of first.W, first.b, x is not that of the function's calls: it unchains
Variables, stops gradients or uses functions that define their own gradient. Compile a function that returns
the gradients
""",
    )

    with pytest.raises(interop.ExportError, match="a value is read"):
        interop.compile(lambda x: x * float(x.array.sum()), frontend="chainer", backend="eager")(X)
    with pytest.raises(TypeError, match="fullgraph cannot be chosen"):
        interop.compile(net, fullgraph=False)
    with pytest.raises(TypeError, match=r"unknown option params: expected example_inputs, parameters, .*backend"):
        interop.compile(net, params=net)
