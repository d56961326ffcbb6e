"""Training steps of each frontend, with backward passes and optimizers, traced by make_fx."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import _C, interop
from compatgrad.mxnet import autograd, gluon


def data(parameters: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The inputs, labels and parameters of a step."""
    torch.manual_seed(4)
    drawn = [p + 0.3 * torch.rand_like(p) for p in parameters]
    return [torch.randn(6, 4), torch.randint(0, 3, (6,)), *drawn]


def check(step: Callable, parameters: Sequence[torch.Tensor], state: Sequence[torch.Tensor] = ()) -> None:
    """Compare the traced graph with the step on numbers that were not traced. `state`: tensors that the step changes;
    tracing must not change them, and the graph must."""
    given, before = data(parameters), [t.clone() for t in state]
    expected = [y.clone() for y in step(*(t.clone() for t in given))]
    changed = [t.clone() for t in state]
    for t, old in zip(state, before, strict=True):
        t.copy_(old)
    other = [t.clone() if t.dtype == torch.int64 else t * 0.5 for t in given]
    graph = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=bool(state))(*other)
    for t, old in zip(state, before, strict=True):
        assert torch.equal(t, old)
    found = graph(*(t.clone() for t in given))
    assert len(found) == len(expected) > len(parameters)
    assert (expected[-1] - given[-1]).abs().max() > 1e-5, "nothing is learned"
    for a, b in zip([*expected, *changed], [*found, *state], strict=True):
        torch.testing.assert_close(b, a, rtol=1e-6, atol=1e-6)


# ---- Chainer ---------------------------------------------------------------------------------------------------------
class Net(chainer.Chain):
    def __init__(self, normalized=False):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 5)
            self.l2 = L.Linear(5, 3)
            self.bn = L.BatchNormalization(5) if normalized else F.identity

    def forward(self, x):
        return self.l2(F.tanh(self.bn(self.l1(x))))


def gradient_norms(y, x):
    (g,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
    return F.sqrt(F.sum(g * g, axis=1) + 1e-6)


def chainer_step(net, optimizer, penalty=False):
    params = list(net.params())

    def step(x, t, *values):
        for p, value in zip(params, values, strict=True):
            p.tensor = value
        v = chainer.Variable(x)
        y = net(v)
        loss = F.softmax_cross_entropy(y, chainer.Variable(t))
        if penalty:
            loss += F.mean((gradient_norms(y, v) - 1) ** 2)
        net.cleargrads()
        loss.backward()
        optimizer.update()
        return [loss.tensor, *(p.tensor for p in params)]

    return step, [p.tensor.clone() for p in params]


def test_chainer():
    net = Net()
    optimizer = chainer.optimizers.SGD(0.1).setup(net)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.5))
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-2))
    check(*chainer_step(net, optimizer))


def test_chainer_with_a_gradient_penalty():
    net = Net()
    check(*chainer_step(net, chainer.optimizers.SGD(0.1).setup(net), penalty=True))


@pytest.mark.parametrize("name", ["MomentumSGD", "RMSprop", "AdaGrad", "AdaDelta"])
def test_states_of_chainers_optimizers_move_with_an_exported_step(name):
    """Two runs of the graph give the numbers of two steps, the second of which depends on the optimizer's state."""
    net = Net()
    optimizer = getattr(chainer.optimizers, name)().setup(net)

    def step(x, t):
        loss = F.softmax_cross_entropy(net(x), t)
        net.cleargrads()
        loss.backward()
        optimizer.update()
        return loss

    x, t, *_ = data([])
    graph = interop.export(step, (x, t), parameters=net, frontend="chainer", train=True)
    before = [p.tensor.clone() for p in net.params()]
    states = [a for p in net.params() for a in p.update_rule.state.values()]
    zeros = [a.copy() for a in states]
    found = [graph(v, t) for v in (x, x + 0.5)] + [p.tensor.clone() for p in net.params()]
    for p, old in zip(net.params(), before, strict=True):
        p.tensor.copy_(old)
    for a, old in zip(states, zeros, strict=True):
        a[...] = old
    expected = [step(chainer.Variable(v), chainer.Variable(t)).tensor for v in (x, x + 0.5)]
    torch.testing.assert_close(found, [*expected, *(p.tensor for p in net.params())], rtol=1e-6, atol=1e-6)
    assert states and all((a != 0).any() for a in states)


def test_chainers_running_statistics_change_in_the_graph():
    net = Net(normalized=True)
    step, params = chainer_step(net, chainer.optimizers.SGD(0.1).setup(net))
    check(step, params, [torch.from_numpy(net.bn.avg_mean), torch.from_numpy(net.bn.avg_var)])


# ---- nnabla ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("auto", [True, False], ids=["dynamic", "static"])
@pytest.mark.parametrize(
    "solver", [lambda: S.Sgd(0.1), S.Adam, lambda: S.Momentum(0.1)], ids=["sgd", "adam", "momentum"]
)
def test_nnabla(solver, auto):
    check(*nnabla_step(solver, auto))


@pytest.mark.parametrize("auto", [True, False], ids=["dynamic", "static"])
def test_nnabla_with_a_gradient_penalty(auto):
    check(*nnabla_step(lambda: S.Sgd(0.1), auto, penalty=True))


def nnabla_step(solver, auto, penalty=False):
    nn.clear_parameters()

    def net(x):
        return PF.affine(NF.tanh(PF.affine(x, 5, name="a")), 3, name="b")

    net(nn.Variable((6, 4)))
    params = nn.get_parameters()

    def step(x, t, *values):
        for p, value in zip(params.values(), values, strict=True):
            p.data.tensor = value
        s = solver()
        s.set_parameters(params)
        with nn.auto_forward(auto):
            vx, vt = nn.Variable((6, 4), need_grad=penalty), nn.Variable((6, 1))
            vx.data.tensor, vt.data.tensor = x, t.reshape(6, 1)
            y = net(vx)
            loss = NF.mean(NF.softmax_cross_entropy(y, vt))
            if penalty:
                (g,) = nn.grad([NF.sum(y)], [vx])
                loss = loss + NF.mean((NF.sum(g * g, axis=1) ** 0.5 - 1) ** 2)
            if not auto:
                loss.forward()
            s.zero_grad()
            loss.backward()
            s.clip_grad_by_norm(0.5)
            s.weight_decay(1e-2)
            s.update()
        return [loss.data.tensor, *(p.data.tensor for p in params.values())]

    return step, [p.data.tensor.clone() for p in params.values()]


# ---- MXNet -----------------------------------------------------------------------------------------------------------
def gluon_step(trainer_of, penalty=False, normalized=False):
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(5, activation="tanh", in_units=4))
    if normalized:
        net.add(gluon.nn.BatchNorm(in_channels=5))
    net.add(gluon.nn.Dense(3, in_units=5))
    net.initialize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    every = net.collect_params()
    params = [p for p in every.values() if p.grad_req != "null"]
    trainer = trainer_of(every)

    def step(x, t, *values):
        for p, value in zip(params, values, strict=True):
            _C.replace_leaf(p.data(), value)
        x, t = interop.to("mxnet", x), interop.to("mxnet", t)
        x.attach_grad()
        with autograd.record():
            y = net(x)
            loss = loss_of(y, t)
            if penalty:
                (g,) = autograd.grad(y.sum(), [x], create_graph=True)
                loss = loss + (mx.nd.sqrt((g**2).sum(axis=1) + 1e-6) - 1) ** 2
        loss.backward()
        if trainer is None:
            for p in params:
                p.data()[:] -= 0.1 * p.grad()
        else:
            trainer.step(6)
        return [loss.tensor, *(p.data().tensor for p in params)]

    statistics = [p.data().tensor for p in every.values() if p.grad_req == "null"]
    return step, [p.data().tensor.clone() for p in params], [*statistics, *(p.grad().tensor for p in params)]


def sgd(params):
    return gluon.Trainer(params, "sgd", {"learning_rate": 0.1, "wd": 1e-2})


@pytest.mark.parametrize("trainer_of", [sgd, lambda params: None], ids=["trainer", "by hand"])
def test_mxnet(trainer_of):
    check(*gluon_step(trainer_of))


def test_mxnet_with_a_gradient_penalty():
    check(*gluon_step(sgd, penalty=True))


def test_mxnets_running_statistics_change_in_the_graph():
    check(*gluon_step(sgd, normalized=True))


# ---- compatgrad itself -----------------------------------------------------------------------------------------------
def test_native_with_a_gradient_penalty():
    op = _C.op

    def gradients(y, xs, record):
        one = _C.Variable(torch.ones(()), False)
        return _C.grad(_C.native_frontend, [y], xs, [one], enable_double_backprop=record)

    def step(x, t, w, b):
        x, w, b = (_C.Variable(v) for v in (x, w, b))
        y = op("add")(op("matmul")(op("tanh")(x), w), b)
        (g,) = gradients(op("sum")(y), [x], True)
        loss = op("sum")(op("square")(g)) + op("softmax_cross_entropy")(y, t)
        return [
            loss.tensor,
            *(p.tensor - 0.1 * g.tensor for p, g in zip((w, b), gradients(loss, [w, b], False), strict=True)),
        ]

    torch.manual_seed(1)
    check(step, [torch.randn(4, 3), torch.randn(3)])
