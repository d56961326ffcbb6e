"""Compiled functions that run nnabla's static graphs, also graphs that were built outside of them."""

import warnings

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import interop

X = np.random.RandomState(0).rand(4, 3).astype("f")


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def set_array(x, v):
    x.d = v.d


def copy(x, v):
    x.data.copy_from(v.data)


def share(x, v):
    x.data = v.data


@pytest.mark.parametrize("feed", [set_array, copy, share])
@pytest.mark.parametrize("outside", [True, False])
def test_a_static_graph_that_the_function_feeds(feed, outside):
    def build():
        x = nn.Variable((4, 3))
        return x, PF.affine(F.tanh(x), 2, name="a")

    made = build()
    made[0].d = 7
    made[1].forward()
    before = made[1].d.copy()

    def f(v):
        x, y = made if outside else build()
        feed(x, v)
        y.forward()
        return y

    g = interop.compile(f, parameters=nn.get_parameters(), frontend="nnabla", backend="eager", dynamic=False)
    for factor in (1, 2):
        found = g(nn.Variable.from_numpy_array(factor * X))
        found.forward()
        assert (made[0].d == 7).all() and (made[1].d == before).all()  # the trace leaves everything as it was
        made[0].d = factor * X
        made[1].forward()
        np.testing.assert_allclose(found.d, made[1].d, rtol=1e-4, atol=1e-6)
        made[0].d = 7
        made[1].forward()


@pytest.mark.parametrize("given", [lambda a: a, nn.Variable.from_numpy_array])
@pytest.mark.parametrize("auto", [False, True])
def test_results_that_the_function_computes_have_values(given, auto):
    """Their `.d` was zeros, and the comparison of gradients could not assign an array: a RuntimeError."""

    def f(v):
        if auto:
            with nn.auto_forward():
                return F.tanh(v)
        x = nn.Variable((4, 3))
        x.d = v
        y = F.tanh(x)
        y.forward()
        return y

    g = interop.compile(f, frontend="nnabla", backend="eager", dynamic=False)
    for factor in (1, 2):
        np.testing.assert_allclose(g(given(factor * X)).d, np.tanh(factor * X), rtol=1e-5)
    h = interop.compile(lambda v: F.tanh(v), frontend="nnabla", backend="eager", dynamic=False)
    x = nn.Variable((4, 3))
    y = h(x)  # a part of a static graph, whose inputs have no values yet
    x.d = X
    y.forward()
    np.testing.assert_allclose(y.d, np.tanh(X), rtol=1e-5)


@pytest.mark.parametrize("outside", [False, True])
def test_running_statistics_are_updated_once_in_each_call(outside):
    """A graph that the function builds was run twice in a trace: its statistics decayed twice as fast."""

    def build():
        x = nn.Variable((4, 3))
        return x, F.sum(PF.batch_normalization(x, name="b"))

    made = build()

    def f(v):
        x, y = made if outside else build()
        x.d = v
        y.forward()
        return y

    def means(**how):
        for p in nn.get_parameters(grad_only=False).values():
            p.d = 0
        g = interop.compile(f, frontend="nnabla", backend="eager", dynamic=False, **how) if how else f
        for k in range(3):
            g(X + k)
        return nn.get_parameters(grad_only=False)["b/bn/mean"].d.copy()

    expected = means()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        np.testing.assert_allclose(means(parameters=nn.get_parameters(grad_only=False)), expected, rtol=1e-5)
    said = [str(w.message) for w in seen if w.category is UserWarning]
    # `made` belongs to the closure of `f`; where `f` builds a graph of its own, the input of `made` is not set
    assert not outside or not said, said
    with pytest.warns(UserWarning, match=r"shape \(1, 3\), such as a running mean.*get_parameters\(grad_only=False\)"):
        assert (means(parameters=nn.get_parameters()) == 0).all()


class Trainer:
    """A program's own class, whose static graph is an attribute."""

    def __init__(self):
        nn.clear_parameters()
        nn.seed(3)
        self.x, self.t = nn.Variable((4, 3)), nn.Variable((4, 1))
        self.loss = F.mean(F.squared_error(PF.affine(self.x, 1, name="a"), self.t))
        self.parameters = nn.get_parameters()
        self.solver = S.Adam(0.1)
        self.solver.set_parameters(self.parameters)

    def step(self, x, t):
        self.x.d, self.t.d = x, t
        self.loss.forward()
        self.solver.zero_grad()
        self.loss.backward(clear_buffer=True)
        return self.loss


def test_a_training_step_with_a_static_graph():
    losses = []
    for compiles in (False, True):
        trainer = Trainer()
        step = interop.compile(trainer.step, parameters=trainer.parameters) if compiles else trainer.step
        losses.append([])
        for k in range(5):
            losses[-1].append(float(step(X + k, X[:, :1]).d))
            trainer.solver.update()
        if compiles:
            assert type(trainer.x.data.tensor) is torch.Tensor and not trainer.x.d.any()
    np.testing.assert_allclose(*losses, rtol=1e-4)


def test_a_refused_static_graph_is_as_it_was():
    x = nn.Variable((4, 3))
    y = PF.affine(x, 2, name="a")
    x.d = 7

    def f(v):
        x.d = v.d
        y.forward()
        return y if y.d.sum() > 0 else v

    g = interop.compile(f, parameters=nn.get_parameters(), frontend="nnabla", dynamic=False)
    with pytest.raises(interop.ExportError, match=r"a value is read.*y\.d\.sum\(\)"):
        g(nn.Variable.from_numpy_array(X))
    assert type(x.data.tensor) is torch.Tensor and (x.d == 7).all()
    y.forward()
    assert y.d.shape == (4, 2)


def test_a_static_graph_has_its_own_sizes():
    x = nn.Variable((4, 3))
    y = F.tanh(x)

    def f(v):
        x.d = v
        y.forward()
        return y

    with pytest.raises(interop.ExportError, match=r"not at batch 5 .*x\.d = v.*A static graph keeps the sizes.*"
                                                  r"With dynamic=False"):  # fmt: skip
        interop.compile(f, frontend="nnabla")(X)
    with pytest.raises(RuntimeError, match="NdArray: arrays cannot have the dtype object"):
        x.d = nn.Variable((4, 3))  # outside of a trace this is an error, as in the original


def test_an_input_that_the_function_does_not_set_is_named():
    x, constant = nn.Variable((4, 3)), nn.Variable((4, 2))
    y = PF.affine(x, 2, name="a")

    def f(v):
        y.forward()
        return F.sum(v) + F.sum(y) + F.sum(constant)

    def compiled(f):
        return interop.compile(f, parameters=nn.get_parameters(), frontend="nnabla", backend="eager")

    with pytest.warns(UserWarning, match=r"input of shape \(4, 3\): the compiled function keeps .*x\.d = argument"):
        compiled(f)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(lambda v: F.sum(PF.affine(v, 2, name="a")) + F.sum(constant))(X)


def test_a_call_without_inputs_and_a_function_without_results():
    with pytest.raises(TypeError, match="interop.compile: a call needs a tensor, an array or a Variable .*pass what"):
        interop.compile(lambda: chainer.Variable(X), frontend="chainer")()
    with pytest.raises(interop.ExportError, match="returns no Variable and leaves no gradients"):
        interop.compile(lambda x: None, frontend="chainer")(X)


@pytest.mark.parametrize("options, message", [
    ({"mode": "fast"}, "mode: expected one of default, .*reduce-overhead, got 'fast'"),
    ({"options": {"max_autotun": True}}, "options: torch._inductor.config has no 'max_autotun'.*mean max_autotune"),
])  # fmt: skip
def test_options_are_checked_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        interop.compile(lambda x: x, frontend="chainer", **options)
    interop.compile(lambda x: x, mode="default", options={"max_autotune": False, "triton.cudagraphs": False})


def test_a_step_with_a_trainer_of_gluon():
    """The Trainer marks the gradients as used, and yet the function is one that runs backward."""
    found = []
    for compiles in (False, True):
        mx.random.seed(1)
        net = mx.gluon.nn.Dense(2, in_units=3)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

        def step(x, net=net, trainer=trainer):
            with mx.autograd.record():
                loss = (net(x) ** 2).sum()
            loss.backward()
            trainer.step(4)
            return loss

        step = interop.compile(step, parameters=net, frontend="mxnet") if compiles else step
        losses = [float(step(mx.nd.array(X)).asscalar()) for _ in range(4)]
        found.append([*losses, *net.weight.data().asnumpy().ravel()])
        with pytest.raises(UserWarning, match="not been updated"):
            trainer.step(4)  # the gradients were used, after the compiled function, too
    np.testing.assert_allclose(*found, rtol=1e-4)
