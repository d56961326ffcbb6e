"""nn.grad and the registry of backward functions."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.backward_functions import register, registry, show_registry
from compatgrad.nnabla.function import PythonFunction


@pytest.fixture(autouse=True)
def clean():
    nn.clear_parameters()
    shipped = dict(registry)
    yield
    nn.clear_parameters()
    for name in set(registry) - set(shipped):
        del registry[name]
        registry.changed.discard(name)
    for name, f in shipped.items():
        registry[name] = f


def leaf(*shape, seed=0, need_grad=True):
    return nn.Variable.from_numpy_array(np.random.RandomState(seed).rand(*shape).astype("f") + 0.5, need_grad=need_grad)


def run(*variables):
    nn.forward_all(variables)
    return [v.d.copy() for v in variables]


@pytest.mark.semantics("N01")
def test_what_it_takes():
    x, w = leaf(3), leaf(3, seed=1)
    y = F.sum(x * w)
    for outputs, inputs in [(y, x), ([y], [x]), ((y,), {"x": x}.values()), (y, (v for v in [x]))]:
        (g,) = nn.grad(outputs, inputs)
        np.testing.assert_array_equal(run(g)[0], w.d)
    with pytest.raises(ValueError, match=r"outputs must be `nnabla.Variable`: outputs\[0\] is float"):
        nn.grad([1.0], [x])
    with pytest.raises(ValueError, match=r"inputs\[1\] is NdArray"):
        nn.grad([y], [x, w.data])
    (g,) = nn.grad(y, x)  # the error leaves the graph usable
    np.testing.assert_array_equal(run(g)[0], w.d)


@pytest.mark.semantics("N02")
@pytest.mark.parametrize("auto", [False, True])
def test_grad_outputs(auto):
    x = leaf(2, 3)
    go = np.arange(6, dtype="f").reshape(2, 3)
    variable = nn.Variable.from_numpy_array(go, need_grad=True)
    with nn.auto_forward(auto):
        y = x**2
        for given, factor in [
            (None, 1),
            (2, 2),
            (0.5, 0.5),
            (go, go),
            (nn.NdArray.from_numpy_array(go), go),
            (variable, go),
        ]:
            for grad_outputs in ([given], given) if not isinstance(given, nn.Variable) else ([given],):
                (g,) = nn.grad([y], [x], grad_outputs)
                if not auto:
                    g.forward()
                np.testing.assert_allclose(g.d, 2 * x.d * factor, rtol=1e-6)
        (g,) = nn.grad([y], [x], [variable])
        (by_go,) = nn.grad([F.sum(g)], [variable])
        if not auto:
            by_go.forward()
        np.testing.assert_allclose(by_go.d, 2 * x.d, rtol=1e-6)
    with pytest.raises(ValueError, match="one of grad_outputs: 2 for 1 outputs"):
        nn.grad([y], [x], [None, None])
    with pytest.raises(ValueError, match=r"grad_outputs\[0\] has \(3,\), outputs\[0\] has \(2, 3\)"):
        nn.grad([y], [x], [np.ones(3, "f")])
    with pytest.raises(ValueError, match=r"grad_outputs\[0\] is str"):
        nn.grad([y], [x], ["1"])


@pytest.mark.semantics("N03")
def test_persistent_outputs():
    x = leaf(2)
    y, z = F.sum(x * 2), F.sum(x * 3)
    nn.grad([y, z], [x])
    assert y.persistent and z.persistent
    nn.grad([y, z], [x], persistent_outputs=[False, True])
    assert (y.persistent, z.persistent) == (False, True)
    with pytest.raises(ValueError, match="one of persistent_outputs: 1 for 2 outputs"):
        nn.grad([y, z], [x], persistent_outputs=[True])


@pytest.mark.semantics("N04")
def test_bind_grad_output():
    x = leaf(3)
    (g,) = nn.grad([F.sum(x**3)], [x], bind_grad_output=True)
    g.forward()
    assert x.grad == g.data
    np.testing.assert_allclose(x.g, 3 * x.d**2, rtol=1e-6)


@pytest.mark.semantics("N05")
@pytest.mark.parametrize("auto", [False, True])
def test_any_order(auto):
    x = leaf(4)
    with nn.auto_forward(auto):
        g = F.exp(2 * x)
        for _ in range(4):
            (g,) = nn.grad([g], [x])
        if not auto:
            g.forward()
        np.testing.assert_allclose(g.d, 16 * np.exp(2 * x.d), rtol=1e-5)
        x.grad.zero()
        g.backward()
    np.testing.assert_allclose(x.g, 32 * np.exp(2 * x.d), rtol=1e-5)


@pytest.mark.semantics("N05")
def test_a_static_gradient_follows_new_inputs():
    x = leaf(3)
    (g,) = nn.grad([F.sum(F.relu(x) * F.max(x, keepdims=True))], [x])
    z = F.sum(g**2)
    for seed in range(3):
        x.d = np.random.RandomState(seed).randn(3)
        z.forward()
        top = np.zeros(3)
        top[x.d.argmax()] = np.maximum(x.d, 0).sum()
        np.testing.assert_allclose(g.d, (x.d > 0) * x.d.max() + top, rtol=1e-5)


@pytest.mark.semantics("N06")
def test_unreached_inputs_are_zero():
    x, other = leaf(2, 3), leaf(4, 5, seed=1)
    constant = leaf(2, 3, seed=2, need_grad=False)
    g, h, c = nn.grad([F.sum(x * constant)], [x, other, constant])
    assert (h.shape, c.shape) == ((4, 5), (2, 3))
    _, h_, c_ = run(g, h, c)
    assert not h_.any() and not c_.any()


@pytest.mark.semantics("N07")
def test_parameters_stand_for_those_of_the_graph():
    x = leaf(2, 3)
    y = F.sum(PF.affine(F.tanh(PF.affine(x, 3, name="a")), 3, name="a"))  # both layers use the same parameters
    params = nn.get_parameters()
    grads = nn.grad([y], params.values())
    run(*grads)
    for p in params.values():
        p.grad.zero()
    y.forward()
    y.backward()
    for p, g in zip(params.values(), grads, strict=True):
        np.testing.assert_allclose(g.d, p.g, rtol=1e-5)


def test_outputs_and_inputs_that_the_original_gets_wrong():
    x = leaf(2, 3)
    a, b = F.split(x, axis=0)
    (g,) = nn.grad([a, b], [x])
    np.testing.assert_array_equal(run(g)[0], np.ones((2, 3)))
    y = F.sum(x * 3)
    (g,) = nn.grad([y, y], [x])
    np.testing.assert_array_equal(run(g)[0], np.full((2, 3), 6))
    z = y * 2
    (g,) = nn.grad([z, y], [x])  # z also depends on y
    np.testing.assert_array_equal(run(g)[0], np.full((2, 3), 9))
    g, h = nn.grad([y], [x, x])
    np.testing.assert_array_equal(run(g)[0], run(h)[0])
    (g,) = nn.grad([x], [x])
    np.testing.assert_array_equal(run(g)[0], np.ones((2, 3)))


class Cube(PythonFunction):
    name = "Cube"

    def min_outputs(self):
        return 1

    def grad_depends_output_data(self, i, o):
        return False

    def grad_depends_input_data(self, i, j):
        return True

    @property
    def args(self):
        return {"power": 3}

    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        outputs[0].d = inputs[0].d ** 3

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        if not propagate_down[0]:
            return
        g = 3 * inputs[0].d ** 2 * outputs[0].g
        inputs[0].g = inputs[0].g + g if accum[0] else g


@pytest.mark.semantics("N08")
def test_unregistered_function():
    x = leaf(2)
    y = Cube()(x)
    with pytest.raises(ValueError, match="Cube is not in the backward function registry"):
        nn.grad([F.sum(y)], [x])
    y.forward()  # the error leaves the graph usable
    np.testing.assert_allclose(y.d, x.d**3, rtol=1e-6)
    del registry["Tanh"]
    with pytest.raises(ValueError, match="Tanh is not in the backward function registry"):
        nn.grad([F.sum(F.tanh(x))], [x])


@pytest.mark.semantics("N09")
@pytest.mark.semantics("N14")
@pytest.mark.parametrize("old", [False, True])
def test_registered_python_function(old):
    seen = {}

    def new_form(grad_inputs, inputs, input_shapes, outputs, output_shapes, power):
        seen.update(inputs=inputs, input_shapes=input_shapes, outputs=outputs, power=power)
        return grad_inputs[0] * power * inputs[0] ** (power - 1)

    def old_form(inputs, power):
        gy, x = inputs
        return gy * power * x ** (power - 1)

    register("Cube", old_form if old else new_form)
    x = leaf(3)
    (g,) = nn.grad([F.sum(Cube()(x))], [x])
    (gg,) = nn.grad([F.sum(g)], [x])
    g_, gg_ = run(g, gg)
    np.testing.assert_allclose(g_, 3 * x.d**2, rtol=1e-5)
    np.testing.assert_allclose(gg_, 6 * x.d, rtol=1e-5)
    if not old:
        assert seen["inputs"][0] == x and seen["outputs"] == [None]
        assert (seen["input_shapes"], seen["power"]) == ([(3,)], 3)


@pytest.mark.semantics("N10")
def test_registry(capsys):
    x = leaf(3)
    shipped, calls = registry["Sin"], []

    def wrapped(*args, **kwargs):
        calls.append(len(args))
        return shipped(*args, **kwargs)

    assert register("Sin", wrapped) is None
    assert registry["Sin"] is wrapped
    (g,) = nn.grad([F.sum(F.sin(x))], [x])
    np.testing.assert_allclose(run(g)[0], np.cos(x.d), rtol=1e-6)
    assert calls == [5]
    registry["MulScalar"] = lambda gi, i, ish, o, osh, val, inplace: gi[0] * 100
    (g,) = nn.grad([F.sum(x * 2)], [x])  # `x * 2` is a MulScalar
    np.testing.assert_array_equal(run(g)[0], np.full(3, 100))
    show_registry()
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if "<function" in line]) == len(registry)
    assert lines[0].split()[0] == next(iter(registry))
    assert "F.constant" in lines[-1]


@pytest.mark.parametrize("name", sorted(set(registry)))
def test_every_entry_is_a_function(name):
    assert callable(registry[name])


@pytest.mark.semantics("N11")
def test_order_and_cuts():
    x, w = leaf(3), leaf(3, seed=1)
    a = F.sin(x)
    b = F.exp(a)
    c = F.cos(w)  # depends on none of the inputs
    cut = F.tanh(x)
    cut.need_grad = False
    y = F.sum(b * a + c + cut)
    order = []
    for name in ("Sum", "Add2", "Mul2", "Sin", "Exp", "Cos", "Tanh"):
        register(name, (lambda n, f: lambda *p, **k: (order.append(n), f(*p, **k))[1])(name, registry[name]))
    (g,) = nn.grad([y], [x])
    assert order == ["Sum", "Add2", "Add2", "Mul2", "Exp", "Sin"]
    np.testing.assert_allclose(run(g)[0], np.exp(np.sin(x.d)) * (1 + np.sin(x.d)) * np.cos(x.d), rtol=1e-5)


def test_deep_chains():
    x = leaf(2)
    h = x
    for _ in range(20_000):
        h = F.add_scalar(h, 1e-4)
    y = F.sum(h)
    (g,) = nn.grad([y], [x])
    g.forward()
    np.testing.assert_array_equal(g.d, np.ones(2))
    x.grad.zero()
    y.backward(clear_buffer=True)
    np.testing.assert_array_equal(x.g, np.ones(2))
