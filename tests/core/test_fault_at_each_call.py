"""Raises an exception at every torch operation in the forward, backward and update of common programs.

A program is one training step as a list of calls of the frontend's API. If a call fails, parameters, gradients, states
of the optimizer, modes and hooks must be as before that call, and the next step must give the numbers of an undisturbed
run. There are two exceptions: an update changes the parameters one by one, so only modes and hooks must be as before;
and MXNet's backward writes gradients while it runs, so all but gradients must be as before.
"""

import contextlib

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import compatgrad as cg
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as CF
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import _C
from compatgrad.mxnet import autograd, gluon


class Injected(Exception):
    pass


class FailAt(TorchDispatchMode):
    """Counts torch's operations; raises in place of number `which`."""

    def __init__(self, which=-1):
        super().__init__()
        self.which, self.calls = which, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        if self.calls == self.which:
            raise Injected
        return func(*args, **(kwargs or {}))


X = np.random.RandomState(0).rand(4, 6).astype(np.float32)
T = np.arange(4, dtype=np.int32) % 3
MODES = ("enable_backprop", "train", "deferred", "auto_forward", "plain", "recording", "training", "debug")


class Program:
    """A training step: `calls` in order, the last of which updates. A failed call must not change `state()`."""

    updates = True
    writes = False  # whether backward, call 1, writes gradients while it runs
    adds = False  # whether it adds to them, so that a failed call is part of the next one's result

    def __init__(self):
        self.calls = []

    def arrays(self):
        raise NotImplementedError

    def state(self):
        return {
            **{k: None if v is None else np.array(v) for k, v in self.arrays().items()},
            "modes": [_C.get_mode_raw(m) for m in MODES],
            "hooks": list(_C.function_hooks()),
        }


# ---- Chainer --------------------------------------------------------------------------------------------------------
class Chainer(Program):
    def __init__(self, link, optimizer, *hooks):
        super().__init__()
        self.link = link
        self.optimizer = optimizer.setup(link)
        for hook in hooks:
            self.optimizer.add_hook(hook)

    def arrays(self):
        found = {"t": self.optimizer.t}
        for name, p in self.link.namedparams():
            found[name], found[name + " gradient"] = p.array, p.grad
            for key, value in (p.update_rule.state or {}).items():
                found[f"{name} {key}"] = value
        return found


def mlp():
    return chainer.Sequential(L.Linear(6, 5), CF.tanh, L.Linear(5, 3))


def chainer_training(optimizer, *hooks, make=mlp, x=X, options=None):
    def build():
        p = Chainer(make(), optimizer(), *hooks)

        def forward():
            p.loss = CF.softmax_cross_entropy(p.link(x), T)

        p.calls = [forward, p.link.cleargrads, lambda: p.loss.backward(**(options or {})), p.optimizer.update]
        return p

    return build


def chainer_penalty():
    p = Chainer(mlp(), chainer.optimizers.Adam())
    x = chainer.Variable(X)

    def forward():
        y = CF.sum(CF.sin(p.link(x)))
        (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        p.loss = CF.sum(gx * gx) + y

    p.calls = [forward, p.link.cleargrads, lambda: p.loss.backward(), p.optimizer.update]
    return p


def chainer_through_time():
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm, self.out = L.LSTM(6, 5), L.Linear(5, 3)

    p = Chainer(Net(), chainer.optimizers.SGD(0.1))

    def forward():
        p.link.lstm.reset_state()
        p.loss = 0
        for _ in range(3):
            p.loss += CF.softmax_cross_entropy(p.link.out(p.link.lstm(X)), T)

    def backward():
        p.loss.backward()

    p.calls = [forward, p.link.cleargrads, backward, lambda: p.loss.unchain_backward(), p.optimizer.update]
    return p


class Watch(chainer.FunctionHook):
    name = "watch"

    def backward_postprocess(self, function, in_data, out_grad):
        assert out_grad


def chainer_hooks():
    p = Chainer(mlp(), chainer.optimizers.SGD(0.1))

    def forward():
        with Watch():
            p.loss = CF.softmax_cross_entropy(p.link(X), T)

    def backward():
        with Watch():
            p.loss.backward(retain_grad=True)

    p.calls = [forward, p.link.cleargrads, backward, p.optimizer.update]
    return p


def convolutions():
    return chainer.Sequential(lambda x: x.reshape(4, 1, 2, 3), L.Convolution2D(1, 2, 2), CF.relu, L.Linear(None, 3))


def native():
    p = Program()
    x = cg.Variable(torch.linspace(0.1, 1, 5))
    sin, exp = _C.op("sin"), _C.op("exp")

    def forward():
        p.y = (exp(sin(x)) * x).sum()

    def backward():
        p.y.backward(enable_double_backprop=True)

    def second():
        (p.second,) = cg.grad([(x.grad_var * x.grad_var).sum()], [x])

    p.calls, p.updates = [x.cleargrad, forward, backward, second], False
    p.arrays = lambda: {"x": x.tensor, "gx": None if x.grad is None else x.grad}
    return p


# ---- nnabla ---------------------------------------------------------------------------------------------------------
class Nnabla(Program):
    def __init__(self, solver):
        super().__init__()
        nn.clear_parameters()
        self.solver = solver
        self.x, self.t = nn.Variable((4, 6)), nn.Variable((4, 1))
        self.x.d, self.t.d = X, T[:, None]
        self.loss = self.build()
        solver.set_parameters(nn.get_parameters())

    def net(self, x):
        rng = np.random.RandomState(1)

        def draw(shape):
            return rng.randn(*shape) * 0.3

        return PF.affine(NF.tanh(PF.affine(x, 5, w_init=draw, name="a")), 3, w_init=draw, name="b")

    def build(self):
        return NF.mean(NF.softmax_cross_entropy(self.net(self.x), self.t))

    def arrays(self):
        found = {}
        for name, v in nn.get_parameters().items():
            found[name], found[name + " gradient"] = v.d, v.g
        for name, s in self.solver.get_states().items():
            found |= {f"{name} {k}": a.data.data for k, a in s.pstate.items()}
        return found


def nnabla_static(solver, forward=None, backward=None, decay=None, clip=None):
    def build():
        p = Nnabla(solver())
        p.calls = [
            lambda: p.loss.forward(**(forward or {})),
            p.solver.zero_grad,
            lambda: p.loss.backward(**(backward or {})),
        ]
        if decay:
            p.calls.append(lambda: p.solver.weight_decay(decay))
        if clip:
            p.calls.append(lambda: p.solver.clip_grad_by_norm(clip))
        p.calls.append(p.solver.update)
        return p

    return build


def nnabla_dynamic():
    p = Nnabla(S.Sgd(0.1))

    def forward():
        with nn.auto_forward():
            p.loss = p.build()

    p.calls = [p.solver.zero_grad, forward, lambda: p.loss.backward(), p.solver.update]
    return p


class NnablaPenalty(Nnabla):
    def build(self):
        self.x.need_grad = True
        y = NF.sum(NF.sin(self.net(self.x)))
        (gx,) = nn.grad([y], [self.x])
        return NF.sum(gx * gx) + y


def nnabla_penalty():
    p = NnablaPenalty(S.Adam())
    p.calls = [p.loss.forward, p.solver.zero_grad, p.loss.backward, p.solver.update]
    return p


class NnablaRecomputed(Nnabla):
    def net(self, x):
        with nn.recompute():
            return super().net(x)


def nnabla_recomputed():
    p = NnablaRecomputed(S.Momentum(0.1))
    p.calls = [
        lambda: p.loss.forward(clear_no_need_grad=True),
        p.solver.zero_grad,
        lambda: p.loss.backward(clear_buffer=True),
        p.solver.update,
    ]
    return p


# ---- MXNet ----------------------------------------------------------------------------------------------------------
class Mxnet(Program):
    writes = True

    def __init__(self, hybridize, optimizer, net=None):
        super().__init__()
        self.net = net or gluon.nn.HybridSequential()
        if net is None:
            with self.net.name_scope():  # numbered from 0; globally, dense10 is sorted before dense9
                self.net.add(gluon.nn.Dense(5, activation="tanh", in_units=6), gluon.nn.Dense(3, in_units=5))
        self.net.initialize(mx.init.Constant(0.1))
        if hybridize:
            self.net.hybridize()
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, {"learning_rate": 0.1})
        self.x, self.t = mx.nd.array(X), mx.nd.array(T)
        self.loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def forward(self):
        with autograd.record():
            self.loss = self.loss_of(self.net(self.x), self.t)

    def arrays(self):
        found = {}
        for i, (name, p) in enumerate(sorted(self.net.collect_params().items())):
            key = f"{i} {name.split('_', 1)[1]}"
            found[key], found[key + " gradient"] = p.data().asnumpy(), p.grad().asnumpy()
        for k, s in enumerate(self.trainer._updaters[0].states.items() if self.trainer._updaters else ()):
            states = s[1] if isinstance(s[1], (tuple, list)) else [s[1]]
            found |= {f"state {k} {j}": a.asnumpy() for j, a in enumerate(states) if a is not None}
        return found


def gluon_training(hybridize, optimizer, req="write", net=lambda: None):
    def build():
        p = Mxnet(hybridize, optimizer, net())
        p.adds = req == "add"
        for parameter in p.net.collect_params().values():
            parameter.grad_req = req
        p.calls = [p.forward, lambda: p.loss.backward(), lambda: p.trainer.step(4)]
        return p

    return build


def mxnet_recorded():
    p = Program()
    x = mx.nd.array(X)
    x.attach_grad()

    def forward():
        with autograd.record():
            y = (mx.nd.sin(x) * x).sum()
            (g,) = autograd.grad([y], [x], create_graph=True, retain_graph=True)
            p.loss = (g * g).sum()

    p.calls, p.updates, p.writes = [forward, lambda: p.loss.backward()], False, True
    p.arrays = lambda: {"x": x.asnumpy(), "gx": x.grad.asnumpy()}
    return p


def chainer_adam():
    return chainer.optimizers.Adam()


PROGRAMS = {
    "native, recorded": native,
    "Chainer, SGD": chainer_training(lambda: chainer.optimizers.SGD(0.1)),
    "Chainer, Adam": chainer_training(chainer_adam),
    "Chainer, decay and clipping": chainer_training(
        lambda: chainer.optimizers.MomentumSGD(0.1),
        chainer.optimizer_hooks.WeightDecay(0.01),
        chainer.optimizer_hooks.GradientClipping(0.5),
    ),
    "Chainer, loss scale": chainer_training(lambda: chainer.optimizers.SGD(0.1), options={"loss_scale": 8.0}),
    "Chainer, convolution": chainer_training(chainer_adam, make=convolutions),
    "Chainer, recorded gradient": chainer_training(chainer_adam, options={"enable_double_backprop": True}),
    "Chainer, gradient penalty": chainer_penalty,
    "Chainer, through time": chainer_through_time,
    "Chainer, hooks": chainer_hooks,
    "nnabla, static": nnabla_static(lambda: S.Sgd(0.1)),
    "nnabla, Adam": nnabla_static(lambda: S.Adam()),
    "nnabla, clearing": nnabla_static(
        lambda: S.Momentum(0.1), {"clear_no_need_grad": True}, {"clear_buffer": True}, 0.01, 0.5
    ),
    "nnabla, dynamic": nnabla_dynamic,
    "nnabla, gradient penalty": nnabla_penalty,
    "nnabla, recomputed": nnabla_recomputed,
    "Gluon, SGD": gluon_training(False, "sgd"),
    "Gluon, hybridized Adam": gluon_training(True, "adam"),
    "Gluon, gradients that add up": gluon_training(False, "sgd", "add"),
    "MXNet, recorded gradient": mxnet_recorded,
}


def assert_same(a, b, what):
    assert a.keys() == b.keys(), what
    for key, value in a.items():
        if isinstance(value, np.ndarray):
            assert b[key] is not None, f"{what}: {key} is gone"
            np.testing.assert_array_equal(value, b[key], err_msg=f"{what}: {key}")
        elif value is None and isinstance(b[key], np.ndarray):
            raise AssertionError(f"{what}: {key} is there")
        else:
            assert value == b[key], f"{what}: {key}"


@pytest.fixture(autouse=True)
def clean():
    yield
    nn.clear_parameters()


@pytest.mark.parametrize("build", PROGRAMS.values(), ids=PROGRAMS)
def test_a_call_that_fails_anywhere_leaves_everything_as_before(build):
    def started():
        np.random.seed(0)
        p = build()
        counts = step(p)  # the first step creates the optimizer's states
        return p, counts

    def step(p):
        counts = []
        for call in p.calls:
            with FailAt() as mode:
                call()
            counts.append(mode.calls)
        return counts

    whole, _ = started()
    counts = step(whole)
    assert sum(counts) > 5
    expected = whole.state()
    for number, count in enumerate(counts):
        for which in range(1, count + 1):
            p, _ = started()
            for call in p.calls[:number]:
                with FailAt():
                    call()
            before = p.state()
            what = f"call {number}, fault at {which} of {count}"
            with contextlib.suppress(Injected):
                with FailAt(which):
                    p.calls[number]()
                raise AssertionError(f"{what}: the exception was swallowed")
            after = p.state()
            if p.updates and number == len(counts) - 1:
                # Parameters are updated one by one, as in the originals: those before the fault have changed.
                after = {k: v for k, v in after.items() if not isinstance(v, np.ndarray)}
                before = {k: v for k, v in before.items() if k in after}
            if p.writes and number == 1:
                after = {k: v for k, v in after.items() if k != "gx" and not k.endswith("gradient")}
                before = {k: v for k, v in before.items() if k in after}
            assert_same(before, after, what)
            step(p)
            if not (p.updates and number == len(counts) - 1) and not (p.adds and number == 1):
                assert_same(expected, p.state(), f"{what}, and the next step")
