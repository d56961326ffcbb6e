"""interop.compile of functions that run backward passes: whole training steps but for the optimizer."""

import sys
import textwrap
import threading

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
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import interop
from compatgrad.exporting import _flat
from compatgrad.exporting._flat import _KeptMemory

BACKENDS = pytest.mark.parametrize("backend", ["eager", "inductor"])
X = np.random.RandomState(0).randn(6, 4).astype("f")
T = np.array([0, 1, 2, 0, 1, 2], "i")


class Net(chainer.Chain):
    def __init__(self, normalized=True):
        super().__init__()
        np.random.seed(1)
        with self.init_scope():
            self.first, self.last = L.Linear(4, 5), L.Linear(5, 3)
            self.norm = L.BatchNormalization(5) if normalized else F.identity

    def forward(self, x):
        return self.last(F.tanh(self.norm(self.first(x))))


def chainer_losses(backend, clears=True):
    """Losses, parameters, gradients and running statistics after four steps, as written or compiled."""
    net = Net()
    optimizer = chainer.optimizers.MomentumSGD(0.1).setup(net)

    def step(x, t):
        loss = F.softmax_cross_entropy(net(x), t)
        if clears:
            net.cleargrads()
        loss.backward()
        return loss

    if backend is not None:
        step = interop.compile(step, parameters=net, backend=backend)
    found = []
    for k in range(4):
        found.append(step(0.3 * X + 0.1 * k, T).array.copy())
        optimizer.update()
    return [
        *found,
        *(p.array for p in net.params()),
        *(p.grad for p in net.params()),
        net.norm.avg_mean,
        net.norm.avg_var,
    ]


@BACKENDS
@pytest.mark.parametrize("clears", [True, False])
def test_chainer(backend, clears):
    for a, b in zip(chainer_losses(None, clears), chainer_losses(backend, clears), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("auto", [True, False], ids=["dynamic", "static"])
def test_nnabla(auto):
    def losses(backend):
        nn.clear_parameters()
        np.random.seed(1)

        def loss_of(x, t):
            return NF.mean(NF.softmax_cross_entropy(PF.affine(NF.tanh(PF.affine(x, 5, name="a")), 3, name="b"), t))

        loss_of(nn.Variable((6, 4)), nn.Variable((6, 1)))
        for k, p in enumerate(nn.get_parameters().values()):
            p.d = np.random.RandomState(k).randn(*p.shape)
        solver = S.Adam(0.1)
        solver.set_parameters(nn.get_parameters())

        def step(x, t):
            loss = loss_of(x, t)
            if not auto:
                loss.forward()
            solver.zero_grad()
            loss.backward()
            return loss

        if backend is not None:
            step = interop.compile(step, parameters=nn.get_parameters(), backend=backend)
        found = []
        with nn.auto_forward(auto):
            for k in range(4):
                x, t = nn.Variable.from_numpy_array(0.3 * X + 0.1 * k), nn.Variable.from_numpy_array(T.reshape(6, 1))
                found.append(step(x, t).d.copy())
                solver.update()
        return [
            *found,
            *(p.d.copy() for p in nn.get_parameters().values()),
            *(p.g for p in nn.get_parameters().values()),
        ]

    for a, b in zip(losses(None), losses("eager"), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("request_", ["write", "add"])
def test_mxnet(request_):
    def losses(backend):
        mx.random.seed(3)
        np.random.seed(3)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(5, activation="tanh", in_units=4), mx.gluon.nn.BatchNorm(in_channels=5))
        net.add(mx.gluon.nn.Dense(3, in_units=5))
        net.initialize(mx.init.Xavier())
        parameters = net.collect_params()
        for p in parameters.values():
            if p.grad_req != "null":
                p.grad_req = request_
        trainer = mx.gluon.Trainer(parameters, "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()

        def step(x, t):
            with mx.autograd.record():
                loss = loss_of(net(x), t)
            loss.backward()
            return loss

        if backend is not None:
            step = interop.compile(step, parameters=net, backend=backend)
        found = []
        for k in range(4):
            found.append(step(mx.nd.array(0.3 * X + 0.1 * k), mx.nd.array(T)).asnumpy())
            trainer.step(6)
        return [
            *found,
            *(p.data().asnumpy() for p in parameters.values()),
            *(p.grad().asnumpy() for p in parameters.values() if p.grad_req != "null"),
        ]

    for a, b in zip(losses(None), losses("eager"), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


@BACKENDS
def test_second_derivatives_and_gradients_of_inputs(backend):
    net = Net(normalized=False)

    def penalty(x, scale):
        y = F.sum(net(x) ** 2)
        (g,) = chainer.grad([y], [x], enable_double_backprop=True)
        loss = F.sum(g * g) * scale
        net.cleargrads()
        loss.backward()
        return {"loss": loss, "norms": [F.sum(g * g, axis=1)]}

    compiled = interop.compile(penalty, parameters=net, backend=backend)
    found = []
    for f in (penalty, compiled):
        x = chainer.Variable(X)
        x.grad = np.ones_like(X)
        y = f(x, 0.5)
        found.append([y["loss"].array, y["norms"][0].array, x.grad, *(p.grad for p in net.params())])
    for a, b in zip(*found, strict=True):
        if a is None:  # the last bias has no effect
            assert b is None
        else:
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
    compiled(chainer.Variable(X[:2]), 0.5)  # other sizes, and another number: compiled again
    compiled(chainer.Variable(X[:2]), 0.25)
    assert len(compiled.graphs) == 3
    assert isinstance(compiled(torch.from_numpy(X), 0.5)["loss"], torch.Tensor)
    transposed = torch.from_numpy(X[:3].T.copy()).t()
    for x in (transposed, transposed.contiguous()):  # the order in memory is not that of the first call
        np.testing.assert_allclose(
            compiled(x, 0.5)["loss"], penalty(chainer.Variable(X[:3]), 0.5)["loss"].array, rtol=1e-4
        )


def step_of(net):
    def step(x, t):
        loss = F.softmax_cross_entropy(net(x), t)
        net.cleargrads()
        loss.backward()
        return loss

    return step


def test_the_result_cannot_be_differentiated():
    """`optimizer.update(step, x, t)` would clear the gradients of the step and train with none."""
    net = Net()
    compiled = interop.compile(step_of(net), parameters=net, backend="eager")
    optimizer = chainer.optimizers.SGD().setup(net)
    for _ in range(2):
        with pytest.raises(interop.ExportError) as e:
            optimizer.update(compiled, X, T)
        assert_expected_inline(
            textwrap.fill(str(e.value), 110) + "\n",
            """\
interop.compile: the result of a compiled function that runs backward itself has no gradient: compile a
function that does not run backward, or use the gradients that it leaves
""",
        )
    with pytest.raises(interop.ExportError, match="has no gradient"):
        (compiled(X, T) + 1).backward()
    with chainer.no_backprop_mode():
        assert compiled(X, T).array == pytest.approx(float(step_of(net)(X, T).array), rel=1e-4)


def test_parameters_that_change_their_dtype_or_memory():
    net = Net(normalized=False)
    compiled = interop.compile(step_of(net), parameters=net, backend="eager")
    compiled(X, T)
    for p in net.params():
        p.array = 2 * p.array
    found = [f(X, T).array for f in (step_of(net), compiled)]
    np.testing.assert_allclose(*found, rtol=1e-5)
    for p in net.params():
        p.array = p.array.astype("d")
    with chainer.using_config("dtype", np.float64):
        found = [[f(X.astype("d"), T).array, net.first.W.grad] for f in (step_of(net), compiled)]
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)
        assert found[1][1].dtype == np.float64
        for p in net.params():  # the same arguments, other parameters
            p.array = p.array.astype("f").astype("d")
        net.last.W.array = np.asfortranarray(net.last.W.array)
        np.testing.assert_allclose(*[f(X.astype("d"), T).array for f in (step_of(net), compiled)], rtol=1e-12)


def test_gradients_that_depend_on_those_before_in_another_way():
    net = Net(normalized=False)

    def halves(x):
        for p in net.params():
            if p.grad_var is not None:
                p.grad_var = p.grad_var * 0.5
        loss = F.sum(net(x))
        loss.backward()
        return loss

    with pytest.raises(interop.ExportError, match="changes the gradient of first.W in another way than replacing"):
        interop.compile(halves, parameters=net, backend="eager")(X)
    x = mx.nd.array(X)
    x.attach_grad()
    dense = mx.gluon.nn.Dense(2, in_units=4)
    dense.initialize()

    def step(x):
        with mx.autograd.record():
            y = dense(x).sum()
        y.backward()
        return y

    with pytest.raises(interop.ExportError, match="x has an attached gradient"):
        interop.compile(step, parameters=dense, backend="eager")(x)
    with pytest.raises(TypeError, match="unknown option banana: expected .* an option of torch.compile"):
        interop.compile(step, parameters=dense, banana=1)(mx.nd.array(X))


def test_adam_inside_a_step_is_refused():
    net = Net(normalized=False)
    optimizer = chainer.optimizers.Adam().setup(net)

    def step(x, t):
        loss = step_of(net)(x, t)
        optimizer.update()
        return loss

    with pytest.raises(interop.ExportError, match="the number is counted from call to call"):
        interop.compile(step, parameters=net, backend="eager")(X, T)


def test_results_are_new_in_each_call_and_threads_do_not_meet(monkeypatch):
    """Inductor's arrays in between are kept from call to call: neither results nor another thread may use them."""
    made = []
    monkeypatch.setattr(_flat, "_KeptMemory", lambda call: made.append(_KeptMemory(call)) or made[-1])
    w = chainer.Parameter(np.random.RandomState(0).randn(4, 4).astype("f"))

    def chain_of(x):
        for _ in range(12):
            x = F.tanh(F.matmul(x, w)) + F.sum(x, axis=1, keepdims=True)
        loss = F.sum(x)
        w.cleargrad()
        loss.backward()
        return loss, x

    compiled = interop.compile(chain_of, parameters={"w": w}, backend="inductor")
    expected = [[y.array for y in chain_of(chainer.Variable(X[k:] * 0.1))] for k in (0, 0)]
    gradient = w.grad.copy()
    first = compiled(X * 0.1)
    kept = w.grad.copy()
    again, held = compiled(X * 0.1), w.grad
    np.testing.assert_allclose(kept, gradient, rtol=1e-3, atol=1e-4)
    for a, b, c in zip(expected[0], first, again, strict=True):
        np.testing.assert_allclose(b.array, a, rtol=1e-4)
        np.testing.assert_allclose(c.array, a, rtol=1e-4)
        assert b.array.ctypes.data != c.array.ctypes.data
    compiled(X)
    np.testing.assert_array_equal(held, kept)
    np.testing.assert_allclose(first[1].array, expected[0][1], rtol=1e-4)
    run, tensors = next(iter(compiled.graphs.values())).run_flat, [torch.from_numpy(X), w.tensor]
    inputs = [[k * tensors[0], tensors[1]] for k in range(4)]
    alone = [[t.clone() for t in run(*i)] for i in inputs]
    wrong = []

    def work(k):
        for _ in range(200):
            if not all(torch.equal(a, b) for a, b in zip(alone[k], run(*inputs[k]), strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    (memory,) = made
    assert len(memory.kept) > 8


def test_a_warning_before_many_sizes(monkeypatch):
    monkeypatch.setattr(sys.modules["compatgrad.exporting.compile"], "_MANY", 2)
    net = Net(normalized=False)
    compiled = interop.compile(step_of(net), parameters=net, backend="eager")
    for n in (1, 2):
        compiled(X[:n], T[:n])
    with pytest.warns(UserWarning, match="each combination of sizes is compiled, .* number 3"):
        compiled(X[:3], T[:3])


@BACKENDS
def test_cross_entropy_that_chainer_writes_as_several_functions(backend):
    """With enable_double_backprop the loss consists of functions that read the labels, which a trace cannot."""
    net = Net(normalized=False)

    def step(x, t):
        loss = F.softmax_cross_entropy(net(x), t, enable_double_backprop=True)
        gradients = chainer.grad([loss], list(net.params()), enable_double_backprop=True)
        net.cleargrads()
        sum(F.sum(g * g) for g in gradients).backward()
        return loss

    found = [
        [f(X, T).array, *(p.grad for p in net.params())]
        for f in (step, interop.compile(step, parameters=net, backend=backend))
    ]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
