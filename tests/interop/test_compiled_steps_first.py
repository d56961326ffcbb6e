"""Compiled steps: what a first call shows of a function, and what a graph of it cannot do."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop

X = np.random.RandomState(0).randn(6, 4).astype("f")
ONE = np.array(1, "f")


def linear(size=4):
    np.random.seed(1)
    return L.Linear(size, 3)


def dense(**options):
    mx.random.seed(1)
    np.random.seed(1)
    net = mx.gluon.nn.Dense(3, **options)
    net.initialize(mx.init.Xavier())
    return net


def step_of(net, clears=False):
    def step(x, scale=ONE):
        loss = F.sum(net(x) ** 2) * scale
        if clears:
            net.cleargrads()
        loss.backward()
        return loss

    return step


def gluon_step_of(net):
    def step(x):
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        return loss

    return step


def assert_same(observe):
    """Compares what `observe(transform)` returns for a step as written and compiled."""
    expected = observe(lambda step, **options: step)
    found = observe(lambda step, **options: interop.compile(step, backend="eager", **options))
    for a, b in zip(expected, found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [4, None], ids=["", "lazy"])
@pytest.mark.parametrize("first", [0, 1])
def test_gradients_that_are_zero_at_the_first_call_are_added_to_later(first, size):
    def observe(compiled):
        net = linear(size)
        net.cleargrads()
        step = compiled(step_of(net), parameters=net)
        found = []
        for x in (first * X, X, X):
            step(x)
            found += [p.grad.copy() for p in net.params()]
        return found

    assert_same(observe)


@pytest.mark.parametrize("clears", [True, False])
def test_gradients_that_overflow_at_the_first_call(clears):
    def observe(compiled):
        net = linear()
        net.cleargrads()
        step = compiled(step_of(net, clears), parameters=net)
        found = []
        for scale in (np.inf, 1, 2):
            if scale == 1:
                net.cleargrads()
            step(X, np.array(scale, "f"))
            found += [p.grad.copy() for p in net.params()]
        return found

    assert_same(observe)
    net = linear()
    net.W.array[:] = np.nan
    with pytest.raises(interop.ExportError, match="gradient of .* is not finite at the first call"):
        interop.compile(step_of(net), parameters=net, backend="eager")(X)


def test_gradients_of_inputs_alone():
    def observe(compiled):
        def step(x):
            loss = F.sum(x**3)
            loss.backward()
            return loss

        step, found = compiled(step), []
        for needs in (False, True, True):
            x = chainer.Variable(X, requires_grad=needs)
            if needs:
                step(x)
            found.append(x.grad)
        return found

    assert_same(observe)


def test_inputs_that_need_gradients_only_in_some_calls():
    def observe(compiled):
        net, found = linear(), []
        step = compiled(step_of(net, True), parameters=net)
        for needs in (False, True, False):
            x = chainer.Variable(X, requires_grad=needs)
            step(x)
            found += [x.grad, net.W.grad]
        return found

    assert_same(observe)


def test_a_shared_parameter_receives_its_gradient_once():
    def observe(compiled):
        net = chainer.ChainList(linear(), L.Linear(3, 3))
        net.add_link(net[0])
        net.cleargrads()

        def step(x):
            loss = F.sum(net[2](x) * net[1](net[0](x)))
            loss.backward()
            return loss

        step = compiled(step, parameters=net)
        for _ in range(3):
            step(X)
        return [p.grad for p in net.params()]

    assert_same(observe)


@pytest.mark.parametrize("auto", [True, False], ids=["dynamic", "static"])
def test_nnabla_zeros_first_and_inputs_that_need_gradients(auto):
    def observe(compiled):
        w = nn.Variable.from_numpy_array(np.random.RandomState(1).randn(4, 3), need_grad=True)
        w.grad.zero()

        def step(x):
            loss = NF.sum(NF.affine(x, w) ** 2)
            if not auto:
                loss.forward(clear_no_need_grad=True)
            loss.backward(clear_buffer=True)
            return loss

        step, found = compiled(step, parameters={"w": w}), []
        with nn.auto_forward(auto):
            for k in range(3):
                x = nn.Variable.from_numpy_array(k * X, need_grad=k > 1)
                x.grad.zero()
                found += [step(x).d.copy(), w.g.copy(), x.g.copy()]
        return found

    assert_same(observe)


@pytest.mark.parametrize("options", [{"in_units": 4}, {}], ids=["", "lazy"])
@pytest.mark.parametrize("request_", ["write", "add"])
def test_gluon_zeros_first(request_, options):
    def observe(compiled):
        net, found = dense(**options), []
        for p in net.collect_params().values():
            p.grad_req = request_
        step = compiled(gluon_step_of(net), parameters=net)
        for k in range(3):
            found.append(step(mx.nd.array(k * X)).asnumpy())
            found += [p.grad().asnumpy() for p in net.collect_params().values()]
        return found

    assert_same(observe)


def test_gradient_requests_that_change():
    def observe(compiled):
        net, found = dense(in_units=4), []
        step = compiled(gluon_step_of(net), parameters=net)
        for request_ in ("write", "add", "null", "write"):
            net.weight.grad_req = request_
            for _ in range(2):
                step(mx.nd.array(X))
            found += [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
        return found

    assert_same(observe)


def test_a_state_between_calls_is_refused():
    net = L.LSTM(4, 3)
    step = step_of(net, True)
    with pytest.raises(interop.ExportError, match="keeps a state between calls"):
        interop.compile(step, parameters=net, backend="eager")(X)

    def observe(compiled):
        def sequence(x):
            net.reset_state()
            net(x)
            return step(x)

        compiled_step = compiled(sequence, parameters=net)
        return [compiled_step(k * X).array for k in range(3)]

    assert_same(observe)


def test_passes_that_would_go_on_before_the_inputs_are_refused():
    net, before = linear(), L.Linear(4, 4)
    compiled = interop.compile(step_of(net), parameters=net, backend="eager")
    with pytest.raises(interop.ExportError, match="x is the result of a recorded computation"):
        compiled(before(X))
    with chainer.no_backprop_mode():
        h = before(X)
    compiled(h)
    w = nn.Variable.from_numpy_array(X, need_grad=True)

    def step(x):
        loss = NF.sum(x * w)
        loss.backward()
        return loss

    compiled = interop.compile(step, parameters={"w": w}, backend="eager")
    with nn.auto_forward():
        compiled(nn.Variable.from_numpy_array(X) * 2)
        with pytest.raises(interop.ExportError, match="x is the result of a recorded computation"):
            compiled(w * 2)


def test_parameters_that_are_not_named_or_on_several_devices_are_refused():
    net = linear()
    net.cleargrads()
    with pytest.raises(interop.ExportError, match="leaves a gradient in . of shape .* not among the parameters"):
        interop.compile(step_of(net), frontend="chainer", backend="eager")(X)
    assert net.W.grad is None
    block = mx.gluon.nn.Dense(3, in_units=4)
    block.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    with pytest.raises(interop.ExportError, match="parameters are on several devices"):
        interop.compile(gluon_step_of(block), parameters=block, backend="eager")(mx.nd.array(X))
    block = mx.gluon.nn.HybridSequential()
    block.add(mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(3))
    block.initialize()
    compiled = interop.compile(gluon_step_of(block), parameters=block, backend="eager")
    with pytest.raises(interop.ExportError, match="running statistics counted it twice"):
        compiled(mx.nd.array(X))
    compiled(mx.nd.array(X))


def test_nnabla_without_its_registered_parameters():
    """nnabla's functions find parameters by name: without `parameters` they would be constants without gradients."""
    nn.clear_parameters()

    def step(x):
        loss = NF.sum(PF.affine(x, 2))
        loss.forward()
        loss.backward()
        return loss

    x = nn.Variable.from_numpy_array(np.ones((3, 4), np.float32))
    for _ in range(2):  # the first call makes the parameters
        with pytest.raises(interop.ExportError, match=r"shape \(4, 2\), which is not among the parameters"):
            interop.compile(step, backend="eager")(x)
    compiled = interop.compile(step, parameters=nn.get_parameters(), backend="eager")
    for p in nn.get_parameters().values():
        p.grad.zero()
    np.testing.assert_allclose(compiled(x).d, step(x).d, rtol=1e-5)
    nn.clear_parameters()
