"""interop.compile of functions of few numbers that run backward passes: tapes, which are chosen by default."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop
from compatgrad.exporting import _tape
from compatgrad.exporting.compile import _CompiledGraph, _CompiledStep


def network(*sizes, dtype="f"):
    np.random.seed(1)
    net = chainer.ChainList(*(L.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)))
    for p in net.params():
        p.array = np.random.randn(*p.shape).astype(dtype) * 0.4
    return net


def is_tape(compiled):
    return all(isinstance(g.run_flat, _tape._Function) for g in compiled.graphs.values())


def assert_same(step, net, *calls, taped=True):
    """Results and gradients of a step as written and compiled, for each tuple of arguments, in two calls."""
    alike = len({x.shape[0] for x in calls[0]}) == 1
    compiled = interop.compile(step, parameters=net, dynamic=alike)
    for args in [*calls, *calls]:
        found = []
        for f in (step, compiled):
            y = f(*args)
            ys = [y] if isinstance(y, chainer.Variable) else y
            found.append([*(v.array for v in ys), *(p.grad for p in net.params())])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                double = a.dtype == np.float64
                np.testing.assert_allclose(b, a, rtol=1e-9 if double else 1e-4, atol=1e-11 if double else 2e-6)
    assert is_tape(compiled) == taped
    return compiled


def maml(net, n_steps, activation=F.relu):
    params = list(net.params())

    def forward(p, h):
        for k in range(0, len(p), 2):
            h = F.linear(h, p[k], p[k + 1])
            h = activation(h) if k < len(p) - 2 else h
        return h

    params = [p for link in net for p in (link.W, link.b)]

    def outer(*arrays):
        total = 0
        for k in range(0, len(arrays), 4):
            x, t, new_x, new_t = arrays[k : k + 4]
            fast = params
            for _ in range(n_steps):
                loss = F.mean_squared_error(forward(fast, x), t)
                gradient = chainer.grad([loss], fast, enable_double_backprop=True)
                fast = [p - 0.1 * g for p, g in zip(fast, gradient, strict=True)]
            total += F.mean_squared_error(forward(fast, new_x), new_t)
        net.cleargrads()
        total.backward()
        return total

    return outer


def tasks(*shots, n_in=1, n_out=1, dtype="f", seed=0):
    random = np.random.RandomState(seed)
    return [random.randn(n, size).astype(dtype) for n in shots for size in (n_in, n_out) * 2]


@pytest.mark.parametrize("n_steps", [1, 2, 4])
@pytest.mark.parametrize("shots", [(10, 10, 10, 10), (7,), (3, 10, 1)], ids=["equal", "one", "different"])
def test_maml(n_steps, shots):
    net = network(1, 13, 17, 1)
    assert_same(maml(net, n_steps), net, tasks(*shots), tasks(*shots, seed=1))


def test_maml_in_float64_and_other_activations():
    for activation in (F.tanh, F.sigmoid, F.softplus):
        net = network(2, 5, 6, 3, dtype="d")
        with chainer.using_config("dtype", np.float64):
            args = tasks(4, 4, n_in=2, n_out=3, dtype="d")
            # softplus has no loop
            assert_same(maml(net, 2, activation), net, args, taped=activation is not F.softplus)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_orders(order):
    net = network(3, 8, 8, 1)

    def step(x):
        y = F.sum(F.tanh(net[1](F.tanh(net[0](x)))))
        for _ in range(order):
            (g,) = chainer.grad([y], [x], enable_double_backprop=True)
            y = F.sum(g * g)
        net.cleargrads()
        y.backward()
        return y

    compiled = interop.compile(step, parameters=net)
    found = []
    for f in (step, compiled):
        x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype("f"))
        y = f(x)
        found.append([y.array, x.grad, *(p.grad for p in net.params())])
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-5 * max(np.abs(a).max(), 1))
    assert is_tape(compiled)


def test_shared_parameters_and_results_of_several_kinds():
    net = network(4, 4)

    def step(x, t):
        h = F.tanh(net[0](F.tanh(net[0](x))))
        loss = F.mean_squared_error(h, t)
        net.cleargrads()
        loss.backward()
        return loss, h, F.transpose(h), h * 2, F.max(h, axis=1), net[0].W.grad_var * 1

    x, t = np.random.RandomState(0).randn(2, 3, 4).astype("f")
    assert_same(step, net, (x, t), (t, x))


def test_gradients_that_are_added_and_gradients_of_inputs():
    net = network(4, 3, 1)
    found = []
    for compiles in (False, True):
        net.cleargrads()

        def step(x):
            loss = F.sum(net[1](F.relu(net[0](x))) ** 2)
            loss.backward()
            return loss

        if compiles:
            step = compiled = interop.compile(step, parameters=net)
        own = []
        for k in range(3):
            x = chainer.Variable(np.random.RandomState(k).randn(2, 4).astype("f"))
            step(x)
            own += [x.grad, *(p.grad.copy() for p in net.params())]
        found.append(own)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
    assert is_tape(compiled)


def test_dropout_draws_new_numbers():
    net = network(4, 30, 1)

    def step(x):
        h = F.dropout(F.tanh(net[0](x)), 0.5)
        loss = F.sum(net[1](h) ** 2)
        net.cleargrads()
        loss.backward()
        return loss, h

    compiled = interop.compile(step, parameters=net)
    x = np.random.RandomState(0).randn(6, 4).astype("f")
    kept = [compiled(x)[1].array for _ in range(40)]
    assert all(not np.array_equal(kept[0], other) for other in kept[1:])
    share = np.mean([h != 0 for h in kept])
    assert 0.46 < share < 0.54
    h, gradient = kept[-1], net[1].W.grad  # of the last call
    y = h @ net[1].W.array.T + net[1].b.array
    np.testing.assert_allclose(gradient, 2 * y.T @ h, rtol=1e-4, atol=1e-4)


def test_writes_to_arrays_of_the_network():
    """Running statistics are written by the graph: a tape does not write to its inputs."""
    found = []
    for compiles in (False, True):
        np.random.seed(1)
        norm, last = L.BatchNormalization(4), L.Linear(4, 1)
        net = chainer.ChainList(norm, last)

        def step(x, norm=norm, last=last, net=net):
            loss = F.sum(last(F.tanh(norm(x))) ** 2)
            net.cleargrads()
            loss.backward()
            return loss

        if compiles:
            step = interop.compile(step, parameters=net)
        for k in range(3):
            step(np.random.RandomState(k).randn(6, 4).astype("f"))
        found.append([norm.avg_mean, norm.avg_var, *(p.grad for p in net.params())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_parameters_that_change_between_calls():
    """A program assigns and changes arrays of parameters, and keeps gradients of earlier calls."""
    net = network(3, 6, 2)

    def step(x):
        loss = F.sum(F.tanh(net[1](F.relu(net[0](x)))))
        net.cleargrads()
        loss.backward()
        return loss

    compiled = interop.compile(step, parameters=net)
    x = np.random.RandomState(0).randn(4, 3).astype("f")
    compiled(x)
    kept, copy = net[0].W.grad, net[0].W.grad.copy()
    net[0].W.array = net[0].W.array * 2
    net[1].W.array *= 3
    found = [[f(x).array, net[0].W.grad, net[1].b.grad] for f in (step, compiled)]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(kept, copy)
    assert is_tape(compiled)


@pytest.mark.parametrize("request_", ["write", "add"])
def test_mxnet(request_):
    found = []
    for compiles in (False, True):
        mx.random.seed(3)
        np.random.seed(3)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(5, activation="tanh", in_units=4), mx.gluon.nn.Dense(3, in_units=5))
        net.initialize(mx.init.Xavier())
        for p in net.collect_params().values():
            p.grad_req = request_

        def step(x, net=net):
            with mx.autograd.record():
                y = net(x)
                loss = (y * y).sum()
            loss.backward()
            return loss

        if compiles:
            step = interop.compile(step, parameters=net)
        for k in range(3):
            step(mx.nd.array(np.random.RandomState(k).randn(2, 4)))
        found.append([p.grad().asnumpy() for p in net.collect_params().values()])
    assert is_tape(step)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_nnabla():
    w = nn.Variable.from_numpy_array(np.random.RandomState(1).randn(4, 3).astype("f"), need_grad=True)

    def step(x):
        loss = NF.sum(NF.tanh(NF.affine(x, w)) ** 2)
        w.grad.zero()
        loss.backward()
        return loss

    compiled, found = interop.compile(step, parameters={"w": w}), []
    with nn.auto_forward():
        for f in (step, compiled):
            y = f(nn.Variable.from_numpy_array(np.random.RandomState(2).randn(5, 4).astype("f")))
            found.append([y.d.copy(), w.g.copy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
    assert is_tape(compiled)


# ---- modes, and compiled functions inside others ---------------------------------------------------------------------


def regression(net, clears=True):
    def step(x, t):
        loss = F.mean_squared_error(net[1](F.tanh(net[0](x))), t)
        if clears:
            net.cleargrads()
        loss.backward()
        return loss

    return step


@pytest.mark.parametrize("clears", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_without_recording_no_gradients_are_left(clears, first):
    x, t = (np.random.RandomState(k).randn(4, 2).astype("f") for k in range(2))
    found = []
    for compiles in (False, True):
        net = network(2, 3, 2)
        step = regression(net, clears)
        step = interop.compile(step, parameters=net) if compiles else step
        own = []
        if first:
            step(x, t)
        for k, records in enumerate((False, True, False)):
            for p in net.params():
                p.grad = np.full_like(p.array, k + 1)
            with chainer.using_config("enable_backprop", records):
                own += [step(x, t).array, *(p.grad for p in net.params())]
        found.append(own)
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


def test_a_compiled_step_inside_another():
    net = network(2, 3, 2)
    x, t = (np.random.RandomState(k).randn(4, 2).astype("f") for k in range(2))
    inner = interop.compile(regression(net), parameters=net)

    def outer(x, t):
        loss = inner(x, t * 2)
        return F.sum(loss + F.sum(net[0].W.grad_var ** 2))

    expected = [outer(x, t).array, net[0].W.grad, net[1].b.grad]
    for k in range(2):  # the inner function was called before, or not
        if k:
            inner = interop.compile(regression(net), parameters=net)
        compiled = interop.compile(outer, parameters=net)
        for _ in range(2):
            found = [compiled(x, t).array, net[0].W.grad, net[1].b.grad]
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
        assert all(isinstance(g, _CompiledStep) for g in compiled.graphs.values())
    graph = interop.export(outer, (x, t), parameters=net)
    import torch

    np.testing.assert_allclose(graph(torch.from_numpy(x), torch.from_numpy(t)).detach().numpy(), expected[0], rtol=1e-4)


def test_functions_without_passes_are_not_tapes():
    net = network(2, 3)
    compiled = interop.compile(lambda x: F.tanh(net[0](x)), parameters=net, backend="eager")
    x = np.ones((2, 2), "f")
    with chainer.no_backprop_mode():
        compiled(x)
    compiled(x)
    assert [type(g) for g in compiled.graphs.values()] == [_CompiledGraph]


def test_a_step_is_traced_once_for_its_sizes(monkeypatch):
    runs = []
    run = interop.compile.__globals__["StepExporter"].run
    monkeypatch.setattr(
        interop.compile.__globals__["StepExporter"], "run", lambda self, *a: runs.append(a) or run(self, *a)
    )
    net = network(2, 3, 2)
    compiled = interop.compile(regression(net), parameters=net)
    for n in (4, 4, 3, 4):
        compiled(np.ones((n, 2), "f"), np.zeros((n, 2), "f"))
    assert len(runs) == 2
