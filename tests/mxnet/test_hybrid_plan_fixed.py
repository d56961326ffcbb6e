"""Plans of blocks whose weights are computed from parameters, their max pooling, and faults of the compiler."""

import numpy as np
import pytest
import torch

from compatgrad import _C
from compatgrad.mxnet import nd
from compatgrad.mxnet.gluon import _plan, nn

from .hybrid_plans import X, agree, call_until_planned, randomize, runs_without, small


class Masked(nn.HybridBlock):
    """A convolution whose weight is `change(F, weight, mask)`."""

    def __init__(self, change, **options):
        super().__init__(**options)
        self.change = change
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(8, 3, 3, 3))
            self.mask = self.params.get("mask", shape=(8, 3, 3, 3), differentiable=False)
            self.after = nn.Conv2D(4, 3, in_channels=8)

    def hybrid_forward(self, F, x, weight, mask):
        y = F.Convolution(x, self.change(F, weight, mask), no_bias=True, kernel=(3, 3), num_filter=8)
        return self.after(F.relu(y))


CHANGES = {
    "mask": lambda F, w, m: w * m,
    "normalize": lambda F, w, m: F.L2Normalization(w, mode="instance"),
    "standardize": lambda F, w, m: F.broadcast_div(
        F.broadcast_sub(w, F.mean(w, axis=(1, 2, 3), keepdims=True)),
        F.sqrt(F.mean(F.square(w), axis=(1, 2, 3), keepdims=True) + 1e-3),
    ),
}


def masked(change):
    net = Masked(change)
    net.initialize()
    randomize(net)
    net.hybridize()
    return net


def functions(net):
    program, _ = next(iter(net._planner.plans.values()))
    return len(program.steps)


@pytest.mark.parametrize("name", CHANGES)
def test_weights_are_computed_once(name):
    net, x = masked(CHANGES[name]), nd.array(X)
    call_until_planned(net, x)
    assert functions(net) == 2  # a convolution with relu, another convolution
    before = agree(net, x)[0]
    for p in (net.weight, net.mask) if name == "mask" else (net.weight,):
        p.set_data(p.data() * nd.array(np.linspace(-1, 1, 27).reshape(3, 3, 3)))
        assert np.abs(runs_without(net, x).asnumpy() - before).max() > 0.01
        call_until_planned(net, x)
        before = agree(net, x)[0]
    w = net.weight.data()
    w[:] = 0.5 * w * w  # in place
    assert np.abs(runs_without(net, x).asnumpy() - before).max() > 0.01


def test_weights_that_are_not_finite_stay_visible():
    net, x = masked(lambda F, w, m: F.sqrt(w)), nd.array(X)
    net.weight.set_data(net.weight.data().abs())
    call_until_planned(net, x)
    assert np.isfinite(agree(net, x)[0]).all()
    net.weight.set_data(-net.weight.data())
    for _ in range(40):
        y = net(x)
    assert np.isnan(y.asnumpy()).all()


def test_dropout_of_a_parameter_is_drawn_in_each_call():
    net, x = masked(lambda F, w, m: F.Dropout(w, p=0.5, mode="always")), nd.array(X)
    for _ in range(40):
        first, second = net(x).asnumpy(), net(x).asnumpy()
    assert (first != second).any()


def test_outputs_that_depend_on_parameters_alone_are_new():
    class Both(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.net = small(nn.Activation("relu"))
                self.table = self.params.get("table", shape=(3, 4), init="ones")

        def hybrid_forward(self, F, x, table):
            return self.net(x), F.reshape(2 * table, (4, 3))

    net, x = Both(), nd.array(X)
    net.table.initialize()
    net.hybridize()
    call_until_planned(net, x)
    agree(net, x)
    net(x)[1][:] = 7
    np.testing.assert_array_equal(net(x)[1].asnumpy(), np.full((4, 3), 2))


def test_a_batch_normalization_of_computed_statistics():
    class Norm(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.net = small(nn.Activation("relu"))
                self.scale = self.params.get("scale", shape=(4,), init="ones")

        def hybrid_forward(self, F, x, scale):
            y = self.net(x)
            return F.BatchNorm(y, 2 * scale, scale, 0.1 * scale, 3 * scale, fix_gamma=True, use_global_stats=True)

    net, x = Norm(), nd.array(X)
    net.scale.initialize()
    net.hybridize()
    call_until_planned(net, x)
    agree(net, x)


@pytest.mark.parametrize("kernel, stride, pad", [(2, 2, 0), (3, 2, 1), (3, 1, 1), ((2, 3), (3, 1), (1, 0))])
@pytest.mark.parametrize("channels", [1, 7, 8, 16, 37])
def test_max_pooling_with_channels_last(kernel, stride, pad, channels):
    def pair(n):
        return n if isinstance(n, tuple) else (n, n)

    x = torch.randn(3, channels, 9, 11).contiguous(memory_format=torch.channels_last)
    x[0, 0, 4, 4] = float("nan")
    x[1] = -float("inf")
    y = _C.max_pool_step((*pair(kernel), *pair(stride), *pair(pad)))(x)
    assert y.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_array_equal(y, torch.nn.functional.max_pool2d(x, kernel, stride, pad))


def test_plans_with_max_pooling_agree():
    net = small(nn.MaxPool2D(2), nn.Activation("relu"))
    call_until_planned(net, nd.array(X))
    agree(net, nd.array(X))
    x = X.copy()
    x[0, 0, 5, 5] = np.nan
    assert np.isnan(runs_without(net, nd.array(x)).asnumpy()).any()
    agree(net, nd.array(X))


def test_a_fault_of_the_compiler_is_told(monkeypatch):
    def fails(*args):
        raise ZeroDivisionError("a fault")

    net = small()
    monkeypatch.setattr(_plan, "compiled", fails)
    with pytest.warns(RuntimeWarning, match="could not make a plan of this block.*ZeroDivisionError"):
        for _ in range(_plan._CALLS + 2):
            y = net(nd.array(X))
    assert net._planner.refused and np.isfinite(y.asnumpy()).all()
