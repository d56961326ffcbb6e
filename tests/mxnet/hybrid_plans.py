"""Networks whose calls run by plans, and assertions on whether a plan ran."""

import numpy as np

import compatgrad
import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet.gluon import _plan, nn

X = np.random.RandomState(0).rand(2, 3, 12, 12).astype("float32")


def randomize(net):
    """Other values than those with which layers begin, so that each parameter has an effect."""
    random = np.random.RandomState(1)
    for name, p in net.collect_params().items():
        low, high = (0.5, 1.5) if name.endswith(("gamma", "var")) else (-0.4, 0.4)
        p.set_data(nd.array(random.uniform(low, high, p.shape)))


def small(*layers, **options):
    """A hybridized network of two convolutions with other layers between them."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1, in_channels=3, **options), *layers, nn.Conv2D(4, 3))
    net.initialize(mx.init.Xavier(magnitude=4))
    net(nd.array(X))
    randomize(net)
    net.hybridize()
    return net


def plans(net):
    return len(net._planner.plans)


def call_until_planned(net, *inputs):
    for _ in range(4 * _plan._CALLS + 2):
        net(*inputs)
        if plans(net):
            return
    raise AssertionError("no plan was made")


def planned(net, x):
    """The program of the plan of a new network for such an input."""
    net.initialize()
    net(nd.array(x))
    randomize(net)
    net.hybridize()
    call_until_planned(net, nd.array(x))
    ((program, _),) = net._planner.plans.values()
    return program


def values(out):
    return [y.asnumpy() for y in (out if isinstance(out, list) else [out])]


def without_plan(net, *inputs):
    with autograd.predict_mode(), compatgrad.FunctionHook():  # functions that are observed run one by one
        used = net._planner.used
        out = values(net(*inputs))
        assert net._planner.used == used
    return out


def agree(net, *inputs):
    """The planned results, which must be those without a plan."""
    used = net._planner.used
    got = values(net(*inputs))
    assert net._planner.used == used + 1
    for a, b in zip(got, without_plan(net, *inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max())
    return got


def runs_without(net, *inputs):
    """Calls the network, and asserts that no plan ran."""
    used = net._planner.used
    out = net(*inputs)
    assert net._planner.used in (used, 0)
    return out
