"""Graphs across torch and the engine are freed by reference counts alone, and loops do not increase memory."""

import contextlib
import gc
import os
import weakref

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop


@pytest.fixture(autouse=True)
def without_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Token:
    """An object whose lifetime is that of the graph node that holds it."""


class Probe(torch.autograd.Function):
    """x * x, whose node in torch's graph holds a token."""

    @staticmethod
    def forward(ctx, x, tokens):
        ctx.save_for_backward(x)
        ctx.token = Token()
        tokens.append(weakref.ref(ctx.token))
        return x * x

    @staticmethod
    def backward(ctx, gy):
        return 2 * ctx.saved_tensors[0] * gy, None


class EngineProbe(chainer.FunctionNode):
    """x * x as a function of the engine's graph."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] * inputs[0],)

    def backward(self, indexes, gys):
        return (2 * self.get_retained_inputs()[0] * gys[0],)


class Probed:
    """A torch module around an engine function whose nodes hold tokens."""

    def __init__(self):
        self.tokens = []
        self.link = L.Linear(3, 3)
        self.module = interop.as_torch_module(self.run, {"W": self.link.W}, frontend="chainer")

    def run(self, x):
        node = EngineProbe()
        self.tokens.append(weakref.ref(node))
        return self.link(node.apply((x,))[0])

    def alive(self):
        return sum(t() is not None for t in self.tokens)


def alive(tokens):
    return sum(t() is not None for t in tokens)


def variable():
    return chainer.Variable(np.random.RandomState(0).rand(2, 3).astype("f"))


# ---- torch inside ----------------------------------------------------------------------------------------------------
def test_a_call_is_freed_with_its_result():
    tokens, x, layer = [], variable(), torch.nn.Linear(3, 3)
    y = interop.call(lambda t: Probe.apply(layer(t), tokens), x)
    dead = weakref.ref(y)
    assert alive(tokens) == 1
    del y
    assert alive(tokens) == 0 and dead() is None
    y = F.sum(interop.call(lambda t: Probe.apply(layer(t), tokens), x))
    y.backward()
    assert alive(tokens) == 1  # Chainer's backward does not free the graph
    del y
    assert alive(tokens) == 0


def test_a_call_is_freed_with_the_graph_of_its_gradient():
    tokens, x, layer = [], variable(), torch.nn.Linear(3, 3)
    y = F.sum(interop.call(lambda t: Probe.apply(layer(t), tokens), x))
    (g,) = chainer.grad([y], [x], enable_double_backprop=True)
    (h,) = chainer.grad([F.sum(g * g)], [x], enable_double_backprop=True)
    F.sum(h * h).backward()
    del y, g
    assert alive(tokens) == 1
    del h
    assert alive(tokens) == 0


def test_a_module_inside_is_freed_with_its_last_user():
    x, layer = variable(), torch.nn.Linear(3, 3)
    w, dead = weakref.ref(layer.weight), weakref.ref(layer)
    y = F.sum(interop.call(layer, x))
    y.backward()
    del layer
    y.unchain_backward()
    del y
    assert dead() is None and w() is None


def test_nnabla_call_is_freed_with_its_result():
    tokens, x = [], nn.Variable.from_numpy_array(np.ones((2, 3)), need_grad=True)
    with nn.auto_forward():
        y = NF.sum(interop.call(lambda t: Probe.apply(t, tokens), x))
        y.backward()
    del y
    assert alive(tokens) == 0


def test_a_result_keeps_no_tensors_that_no_gradient_reads():
    """As for its own functions, the engine drops inputs and outputs that no gradient reads."""
    x = variable()
    h = x * 2
    y = interop.call(lambda t: t + 1, h)
    memory = weakref.ref(h)
    del h
    assert memory() is None and y.creator is not None


# ---- inside torch ----------------------------------------------------------------------------------------------------
def test_a_graph_inside_torch_is_freed_with_its_result():
    probed, x = Probed(), torch.rand(2, 3, requires_grad=True)
    y = probed.module(x)
    assert probed.alive() == 1
    del y
    assert probed.alive() == 0


def test_backward_releases_the_graph_inside_torch():
    """Backward frees the inner graph while the loss still exists, as torch frees the saved tensors of its functions."""
    probed, x = Probed(), torch.rand(2, 3, requires_grad=True)
    loss = probed.module(x).sum()
    loss.backward(retain_graph=True)
    assert probed.alive() == 1
    loss.backward()
    assert probed.alive() == 0
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_gradients_of_gradients_inside_torch():
    probed, x = Probed(), torch.rand(2, 3, requires_grad=True)
    (g,) = torch.autograd.grad((probed.module(x) ** 2).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g**2).sum(), x, create_graph=True)
    assert probed.alive() == 1
    (h**2).sum().backward()
    del g, h
    assert probed.alive() == 0


def test_a_module_around_a_network_is_freed_with_it():
    link = L.Linear(3, 2)
    module = interop.as_torch_module(link)
    module(torch.rand(2, 3)).sum().backward()
    dead = [weakref.ref(o) for o in (link, link.W, module, module.W)]
    del link, module
    gc.collect()  # torch's modules and the engine's wrappers form reference cycles
    assert all(r() is None for r in dead)


# ---- loops -----------------------------------------------------------------------------------------------------------
MB = 1 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def inside_engine(net):
    x = chainer.Variable(np.ones((512, 512), "f"))

    def step():
        y = interop.call(net, x)
        (g,) = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
        (F.sum(g * g) + F.sum(y)).backward()
        x.cleargrad()
        net.zero_grad()

    return step


def inside_torch(net):
    link = interop.as_chainer_link(net)
    module = interop.as_torch_module(lambda v: F.tanh(link(v)) * v, dict(link.namedparams()), frontend="chainer")
    x = torch.ones(512, 512, requires_grad=True)

    def step():
        y = module(x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        ((g * g).sum() + y.sum()).backward()
        x.grad = None
        module.zero_grad()

    return step


def across_frontends(net):
    x = chainer.Variable(np.ones((512, 512), "f"))

    def step():
        with nn.auto_forward():
            h = NF.tanh(interop.call(net, x))
            F.sum(interop.to("chainer", NF.mul2(h, h))).backward()
        x.cleargrad()
        net.zero_grad()

    return step


def aborted(net):
    """Passes that raise an error half-way."""
    x = chainer.Variable(np.ones((512, 512), "f"))
    module = interop.as_torch_module(lambda v: F.tanh(v) * v, frontend="chainer")
    t = torch.ones(512, 512, requires_grad=True)

    class Refusing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gy):
            raise ValueError("no")

    def step():
        with contextlib.suppress(ValueError):
            F.sum(interop.call(lambda v: Refusing.apply(net(v)), x)).backward()
        with contextlib.suppress(ValueError):
            module(Refusing.apply(t)).sum().backward()

    return step


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
@pytest.mark.parametrize("loop", [inside_engine, inside_torch, across_frontends, aborted])
def test_memory_stays_level(loop):
    step = loop(torch.nn.Linear(512, 512))
    for _ in range(5):
        step()
    objects, before = len(gc.get_objects()), resident()
    for _ in range(30):
        step()
    assert resident() - before < 15 * MB  # a single leaked tensor has 30 MB
    assert len(gc.get_objects()) - objects < 30
