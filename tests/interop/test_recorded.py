"""Recorded gradients (create_graph) through nnabla's static graph and the eager frontends' graphs."""

import gc
import weakref

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop

A = np.float32([0.3, -0.7, 1.1])


@pytest.fixture(params=["static", "auto_forward"], autouse=True)
def graph(request):
    nn.clear_parameters()
    nn.set_auto_forward(request.param == "auto_forward")
    yield request.param
    nn.set_auto_forward(False)
    nn.clear_parameters()


def leaf(frontend):
    """A leaf that needs a gradient."""
    if frontend == "nnabla":
        x = nn.Variable.from_numpy_array(A.copy(), need_grad=True)
        x.grad.zero()
        return x
    if frontend == "mxnet":
        x = mx.nd.array(A)
        x.attach_grad()
        return x
    if frontend == "chainer":
        return chainer.Variable(A.copy())
    return compatgrad.Variable(torch.from_numpy(A.copy()))


def value(v):
    if isinstance(v, nn.Variable):
        if v.parent is not None:
            v.forward()
        return v.d.copy()
    return v.tensor.detach().numpy().copy()


def gradient(x):
    if isinstance(x, nn.Variable):
        return x.g.copy()
    if isinstance(x, mx.nd.NDArray):
        return x.grad.asnumpy()
    return x.grad.numpy() if isinstance(x.grad, torch.Tensor) else x.grad.copy()


SIN = {"nnabla": lambda x: NF.sin(x), "chainer": lambda x: F.sin(x), "mxnet": lambda x: mx.nd.sin(x),
       "compatgrad": compatgrad.ops.sin}  # fmt: skip
CUBE = {"nnabla": lambda x: NF.pow_scalar(x, 3), "chainer": lambda x: x * x * x, "mxnet": lambda x: x * x * x,
        "compatgrad": lambda x: x * x * x}  # fmt: skip
SUM = {"nnabla": lambda x: NF.sum(x), "chainer": lambda x: F.sum(x), "mxnet": lambda x: x.sum(),
       "compatgrad": lambda x: x.sum()}  # fmt: skip


def grad(y, x):
    """The recorded gradient of `y` by `x`, with the options of y's frontend."""
    options = {"chainer": {"enable_double_backprop": True}, "compatgrad": {"enable_double_backprop": True},
               "mxnet": {"create_graph": True}, "nnabla": {}}[y._frontend.name]  # fmt: skip
    (g,) = compatgrad.grad([y], [x], **options)
    assert type(g) is type(y)
    return g


def expected(order):
    """Derivatives of sum(sin(x) ** 3 + sin(x)) by torch."""
    x = torch.from_numpy(A.copy()).requires_grad_()
    h = torch.sin(x)
    g = (h**3 + h).sum()
    found = []
    for _ in range(order):
        (g,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        found.append(g.detach().numpy())
    return found


PATHS = [("nnabla", "chainer", "chainer"), ("chainer", "nnabla", "nnabla"), ("chainer", "nnabla", "chainer"),
         ("nnabla", "chainer", "nnabla"), ("mxnet", "nnabla", "mxnet"), ("nnabla", "mxnet", "nnabla"),
         ("compatgrad", "nnabla", "compatgrad"), ("mxnet", "nnabla", "chainer"), ("nnabla", "mxnet", "chainer"),
         ("chainer", "nnabla", "mxnet"), ("nnabla", "compatgrad", "mxnet")]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids="-".join)
def test_derivatives_of_any_order(path):
    first, middle, last = path
    x = leaf(first)
    with mx.autograd.record():
        h = interop.to(middle, SIN[first](x))
        y = interop.to(last, CUBE[middle](h)) + interop.to(last, h)
        for e in expected(4):
            y = grad(SUM[last](y), x)
            np.testing.assert_allclose(value(y), e, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("path", PATHS, ids="-".join)
def test_backward_of_a_recorded_gradient(path):
    """The backward of a gradient penalty reaches the leaf by every path."""
    first, middle, last = path
    x = leaf(first)
    with mx.autograd.record():
        h = interop.to(middle, SIN[first](x))
        g = grad(SUM[last](interop.to(last, CUBE[middle](h)) + interop.to(last, h)), x)
        penalty = SUM[last](g * g)
    if last == "nnabla":
        penalty.forward()
    penalty.backward()
    one, two = expected(2)
    np.testing.assert_allclose(gradient(x), 2 * one * two, rtol=2e-4, atol=1e-5)


class Gan:
    """A generator and a critic with a gradient penalty; `sides` are their frontends."""

    def __init__(self, sides):
        self.sides = sides
        rng = np.random.RandomState(0)
        self.z, self.real = rng.randn(4, 3).astype("f"), rng.randn(4, 3).astype("f")
        self.weights = [rng.randn(3, 3).astype("f") for _ in range(2)] + [rng.randn(3, 1).astype("f")]

    def network(self, side, weights):
        """Return a function of Variables, and a function that returns the gradients of its weights."""
        if side == "nnabla":
            places = [nn.parameter.get_parameter_or_create(f"w{len(w)}{k}", w.shape, w)
                      for k, w in enumerate(weights)]  # fmt: skip
            names = list(nn.get_parameters())
            for p in nn.get_parameters().values():
                p.grad.zero()

            def run(x):
                for k, name in enumerate(names):
                    p = nn.parameter.get_parameter_or_create(name, places[k].shape)
                    x = NF.affine(x, p) if k == len(names) - 1 else NF.tanh(NF.affine(x, p))
                return x

            return run, lambda: [p.g for p in nn.get_parameters().values()]
        links = [L.Linear(*w.shape, nobias=True, initialW=w.T) for w in weights]
        for link in links:
            link.cleargrads()

        def run(x):
            for k, link in enumerate(links):
                x = link(x) if k == len(links) - 1 else F.tanh(link(x))
            return x

        def gradients():
            return [link.W.grad.T for link in links]

        return run, gradients

    def step(self):
        """The gradients of all weights, the generator's included, of the critic's loss with its penalty."""
        generate, of_generator = self.network(self.sides[0], self.weights[:1])
        criticise, of_critic = self.network(self.sides[1], self.weights[1:])
        z = chainer.Variable(self.z) if self.sides[0] == "chainer" else nn.Variable.from_numpy_array(self.z)
        fake = generate(z)
        mixed = fake * 0.3 + (self.real * np.float32(0.7) if self.sides[0] == "chainer"
                              else nn.Variable.from_numpy_array(self.real * np.float32(0.7)))  # fmt: skip
        score = criticise(mixed)
        if self.sides[1] == "chainer":
            (g,) = chainer.grad([score], [mixed], enable_double_backprop=True)
            loss = F.sum((F.sqrt(F.sum(g * g, axis=1)) - 1) ** 2) + F.sum(criticise(fake))
            loss.backward()
        else:
            (g,) = nn.grad([score], [mixed])
            norm = NF.pow_scalar(NF.sum(NF.pow_scalar(g, 2), axis=1), 0.5)
            loss = NF.sum(NF.pow_scalar(norm - 1, 2)) + NF.sum(criticise(fake))
            loss.forward()
            loss.backward()
        return float(value(loss)), [*of_generator(), *of_critic()]

    def of_torch(self):
        w = [torch.from_numpy(x).requires_grad_() for x in self.weights]
        fake = torch.from_numpy(self.z) @ w[0]
        mixed = fake * 0.3 + torch.from_numpy(self.real) * 0.7
        score = torch.tanh(mixed @ w[1]) @ w[2]
        (g,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)
        loss = ((g.pow(2).sum(1).sqrt() - 1) ** 2).sum() + (torch.tanh(fake @ w[1]) @ w[2]).sum()
        loss.backward()
        return loss.item(), [x.grad.numpy() for x in w]


@pytest.mark.parametrize("sides", [("nnabla", "chainer"), ("chainer", "nnabla")], ids="-".join)
def test_a_gradient_penalty_through_both_sides(sides):
    gan = Gan(sides)
    loss, gradients = gan.step()
    e_loss, e_gradients = gan.of_torch()
    assert loss == pytest.approx(e_loss, rel=1e-5)
    for g, e in zip(gradients, e_gradients, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("recorded", [False, True])
def test_parameters_of_nnabla_from_the_other_side(recorded):
    """A gradient by a registered parameter includes all Variables on its arrays, in every part of the graph."""
    x = chainer.Variable(A.copy())
    h = interop.to("chainer", NF.mul2(x, nn.parameter.get_parameter_or_create("w", (3,), A)))
    h = NF.mul2(F.exp(h), nn.parameter.get_parameter_or_create("w", (3,)))
    y = F.sum(interop.to("chainer", h))
    w = nn.get_parameters()["w"]
    gw, gx = chainer.grad([y], [w, x], enable_double_backprop=recorded)
    tw, tx = (torch.from_numpy(A.copy()).requires_grad_() for _ in range(2))
    ew, ex = torch.autograd.grad((torch.exp(tx * tw) * tw).sum(), [tw, tx], create_graph=True)
    assert isinstance(gw, chainer.Variable)
    np.testing.assert_allclose(gw.array, ew.detach(), rtol=1e-5)
    np.testing.assert_allclose(gx.array, ex.detach(), rtol=1e-5)
    if recorded:
        (gg,) = chainer.grad([F.sum(gw * gx)], [w])
        np.testing.assert_allclose(gg.array, torch.autograd.grad((ew * ex).sum(), tw)[0], rtol=1e-4)


def test_unreachable_inputs_get_none_or_zeros():
    x, v = chainer.Variable(A.copy()), leaf("nnabla")
    y = F.sum(interop.to("chainer", NF.sin(x)))
    assert chainer.grad([y], [v]) == [None]
    (g,) = nn.grad([NF.sum(NF.sin(v))], [x])
    g.forward()
    assert g.d.tolist() == [0, 0, 0]


def test_outputs_of_several_frontends():
    x = chainer.Variable(A.copy())
    h = NF.sin(x)
    with mx.autograd.record():
        m = interop.to("mxnet", NF.sum(h))
    outputs = [F.sum(x * x), NF.sum(h), m]
    (g,) = compatgrad.grad(outputs, [x], enable_double_backprop=True)
    assert isinstance(g, chainer.Variable)
    np.testing.assert_allclose(g.array, 2 * A + 2 * np.cos(A), rtol=1e-5)
    (g,) = compatgrad.grad(outputs[::-1], [x], retain_graph=True)
    assert isinstance(g, mx.nd.NDArray)
    (g,) = compatgrad.grad(outputs[1:] + outputs[:1], [x])
    assert isinstance(g, nn.Variable)
    np.testing.assert_allclose(value(g), 2 * A + 2 * np.cos(A), rtol=1e-5)


def test_a_recorded_backward_leaves_gradients_on_both_sides():
    v, x = leaf("nnabla"), chainer.Variable(A.copy())
    h = interop.to("chainer", NF.sin(v))
    F.sum(h * h * x * x).backward(enable_double_backprop=True)
    np.testing.assert_allclose(v.g, 2 * np.sin(A) * np.cos(A) * A**2, rtol=1e-5)
    first, g = v.g.copy(), x.grad_var
    x.cleargrad()
    F.sum(g * g).backward()
    np.testing.assert_allclose(v.g - first, 16 * np.sin(A) ** 3 * np.cos(A) * A**2, rtol=1e-4)
    np.testing.assert_allclose(x.grad, 8 * np.sin(A) ** 4 * A, rtol=1e-4)


def test_doubles_stay_doubles_on_their_side():
    x = chainer.Variable(A.astype("d"))
    y = F.sum(F.cast(interop.to("chainer", NF.pow_scalar(x * x, 2)), "d") * x)
    (g,) = chainer.grad([y], [x], enable_double_backprop=True)
    (gg,) = chainer.grad([F.sum(g)], [x])
    assert g.dtype == gg.dtype == np.float64
    np.testing.assert_allclose(gg.array, 20 * A.astype("d") ** 3, rtol=1e-5)


def test_random_functions_draw_once():
    """The gradient of a static graph uses the random numbers of its forward."""
    x = nn.Variable.from_numpy_array(np.ones((50,), "f"), need_grad=True)
    h = interop.to("chainer", NF.dropout(x, 0.5))
    (g,) = chainer.grad([F.sum(h * h)], [x], enable_double_backprop=True)
    np.testing.assert_array_equal(g.array, 2 * h.array * h.array)
    assert 0 < (h.array == 0).sum() < 50
    (gg,) = chainer.grad([F.sum(g)], [x])
    np.testing.assert_array_equal(gg.array, 2 * h.array * h.array)


def test_values_freed_by_forward_are_recomputed(graph):
    v = leaf("nnabla")
    h = NF.exp(NF.sin(NF.exp(v)))
    if graph == "static":
        h.forward(clear_buffer=True)
    y = F.sum(interop.to("chainer", h) ** 2)
    if graph == "static":
        h.forward(clear_buffer=True)
    y.backward()
    t = torch.from_numpy(A.copy()).requires_grad_()
    torch.exp(torch.sin(torch.exp(t))).pow(2).sum().backward()
    np.testing.assert_allclose(v.g, t.grad, rtol=1e-4)


def test_functions_written_in_python():
    class Square(nn.function.PythonFunction):
        @property
        def name(self):
            return "Square"

        def min_outputs(self):
            return 1

        def setup_impl(self, inputs, outputs):
            outputs[0].reset_shape(inputs[0].shape, True)

        def forward_impl(self, inputs, outputs):
            outputs[0].data.copy_from(NF.pow_scalar(inputs[0].data, 2))

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            if propagate_down[0]:
                g = NF.mul_scalar(NF.mul2(inputs[0].data, outputs[0].grad), 2)
                inputs[0].grad.copy_from(NF.add2(inputs[0].grad, g) if accum[0] else g)

        def grad_depends_output_data(self, i, o):
            return False

        def grad_depends_input_data(self, i, j):
            return True

    x = chainer.Variable(A.copy())
    h = interop.to("chainer", Square(nn.get_current_context())(interop.to("nnabla", x)))
    F.sum(h * x).backward()
    np.testing.assert_allclose(x.grad, 3 * A**2, rtol=1e-5)


def test_a_static_graph_runs_its_gradient_again(graph):
    """nn.grad returns a static graph up to the part of another frontend."""
    x = chainer.Variable(A.copy())
    y = NF.sum(NF.pow_scalar(x, 3))
    (g,) = nn.grad([y], [x])
    g.forward()
    np.testing.assert_allclose(g.d, 3 * A**2, rtol=1e-5)
    loss = F.sum(interop.to("chainer", g) * x)
    loss.backward()
    np.testing.assert_allclose(x.grad, 9 * A**2, rtol=1e-5)


def test_a_variable_without_a_value_cannot_cross():
    with pytest.raises(ValueError, match="a chainer Variable without a value cannot go to nnabla"):
        NF.sin(L.Linear(None, 3).W)


def test_hooks_see_each_side_as_their_own():
    x = chainer.Variable(A.copy())
    y = F.sum(F.exp(interop.to("chainer", NF.sin(F.tanh(x)))))
    timer = chainer.function_hooks.TimerHook()
    with timer:
        y.backward()
    assert {"Exp", "Tanh"} <= set(timer.summary())
    y = NF.sum(NF.sin(F.tanh(x)))
    y.forward()
    with chainer.function_hooks.TimerHook() as timer:
        y.backward()
    assert set(timer.summary()) == {"Tanh"}


def test_unchaining_leaves_the_static_graph_as_it_is():
    v = leaf("nnabla")
    h = NF.sin(v)
    y = F.sum(interop.to("chainer", h))
    y.unchain_backward()
    y.backward()
    assert v.g.tolist() == [0, 0, 0] and h.parent is not None
    NF.sum(h).backward()
    np.testing.assert_allclose(v.g, np.cos(A), rtol=1e-5)


def test_a_copy_of_the_graph_keeps_its_inputs():
    x = chainer.Variable(A.copy())
    w = nn.parameter.get_parameter_or_create("w", (3,), A)
    y = NF.sum(NF.mul2(x, w)).no_grad()
    y.forward()
    y.backward()
    np.testing.assert_allclose(x.grad, A)
    assert not w.g.any()


def test_operators_take_variables_of_the_others():
    v, x = leaf("nnabla"), chainer.Variable(A.copy())
    y = v * x
    assert isinstance(y, nn.Variable)
    y = x * v + y
    assert isinstance(y, chainer.Variable)
    F.sum(y).backward()
    np.testing.assert_allclose(x.grad, 2 * A)
    np.testing.assert_allclose(v.g, 2 * A)


class ChainerCube(chainer.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes, gys):
        (x,) = self.get_retained_inputs()
        assert type(gys[0]) is type(x) is chainer.Variable
        return (3 * x * x * gys[0],)


class NativeCube(compatgrad.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes, gys):
        (x,) = self.get_retained_inputs()
        return (3 * x * x * gys[0],)


@pytest.mark.parametrize("cube", [ChainerCube, NativeCube])
def test_function_nodes_take_variables_of_nnabla(cube):
    v = leaf("nnabla")
    (y,) = cube().apply((NF.sin(v),))
    y = NF.sum(interop.to("nnabla", y))
    for order in range(3):
        (y,) = nn.grad([y], [v])
        t = torch.from_numpy(A.copy()).requires_grad_()
        e = torch.sin(t) ** 3
        for _ in range(order + 1):
            (e,) = torch.autograd.grad(e.sum(), t, create_graph=True)
        np.testing.assert_allclose(value(y), e.detach(), rtol=1e-4, atol=1e-5)


def test_torch_inside_on_both_sides():
    layers = [torch.nn.Linear(3, 3).requires_grad_() for _ in range(2)]
    v = nn.Variable.from_numpy_array(A[None], need_grad=True)
    h = interop.to("nnabla", interop.call(torch.tanh, F.matmul(interop.to("chainer", NF.sin(v)), np.eye(3, dtype="f"))))
    x = interop.call(layers[0], interop.to("chainer", NF.exp(h)))
    (g,) = chainer.grad([F.sum(interop.call(layers[1], F.tanh(x)))], [v], enable_double_backprop=True)
    F.sum(g * g).backward()
    t = torch.from_numpy(A[None]).requires_grad_()
    found = [layer.weight.grad for layer in layers]
    (e,) = torch.autograd.grad(
        layers[1](torch.tanh(layers[0](torch.exp(torch.tanh(t.sin()))))).sum(), t, create_graph=True
    )
    np.testing.assert_allclose(g.array, e.detach(), rtol=1e-4)
    expected = torch.autograd.grad((e * e).sum(), [layer.weight for layer in layers])
    for got, e in zip(found, expected, strict=True):
        torch.testing.assert_close(got, e, rtol=1e-3, atol=1e-5)


def test_recorded_gradients_keep_nothing_alive():
    v, x = leaf("nnabla"), chainer.Variable(A.copy())
    F.sum(interop.to("chainer", NF.sin(NF.mul2(x, v))) * x).backward(enable_double_backprop=True)
    (g,) = nn.grad([NF.sum(NF.sin(x))], [x])
    seen = [weakref.ref(o) for o in (v, x, g, x.grad_var)]
    del v, x, g
    gc.collect()
    assert [ref() for ref in seen] == [None] * 4


def test_gradients_by_intermediates_of_the_other_side():
    x = chainer.Variable(A.copy())
    s = np.sin(A)
    h = NF.sin(x)
    (g,) = chainer.grad([F.sum(F.exp(interop.to("chainer", NF.mul2(h, h))))], [h], enable_double_backprop=True)
    np.testing.assert_allclose(g.array, np.exp(s * s) * 2 * s, rtol=1e-5)
    (gg,) = chainer.grad([F.sum(g)], [h])
    np.testing.assert_allclose(gg.array, np.exp(s * s) * (2 + 4 * s * s), rtol=1e-5)
    h = F.sin(x)
    (g,) = nn.grad([NF.sum(NF.exp(NF.mul2(h, h)))], [h])
    np.testing.assert_allclose(value(g), np.exp(s * s) * 2 * s, rtol=1e-5)


def test_set_grad_reaches_the_arrays_of_nnabla():
    v = leaf("nnabla")
    (g,) = chainer.grad([F.sum(F.exp(interop.to("chainer", v)))], [v], set_grad=True)
    np.testing.assert_allclose(v.g, np.exp(A), rtol=1e-5)
    v.grad.zero()
    assert g.array.all()


def test_debug_mode_checks_computed_values():
    x = chainer.Variable(A.copy())
    with chainer.using_config("debug", True):
        (g,) = chainer.grad([F.sum(interop.to("chainer", NF.sin(x)))], [x], enable_double_backprop=True)
        np.testing.assert_allclose(g.array, np.cos(A), rtol=1e-5)
        y = interop.to("chainer", NF.pow_scalar(x * 0, 0.5))
        with pytest.raises(RuntimeError, match="NaN is detected on backward"):
            F.sum(y * 0).backward()


def test_labels_of_the_other_side():
    logits = nn.Variable.from_numpy_array(np.float32([[1, 2, 3], [0, 0, 1]]), need_grad=True)
    loss = NF.softmax_cross_entropy(logits, chainer.Variable(np.int32([[2], [0]]), requires_grad=False))
    loss.forward()
    e = torch.nn.functional.cross_entropy(torch.tensor(logits.d), torch.tensor([2, 0]), reduction="none")
    np.testing.assert_allclose(loss.d.ravel(), e, rtol=1e-5)
