"""torch modules as nnabla's parametric functions."""

import copy

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import interop

X = np.random.RandomState(0).rand(16, 3).astype("f")
T = X @ np.float32([[1], [-2], [3]])


@pytest.fixture(params=["static", "auto_forward"], autouse=True)
def graph(request):
    nn.clear_parameters()
    nn.set_auto_forward(request.param == "auto_forward")
    torch.manual_seed(0)
    yield request.param
    nn.set_auto_forward(False)
    nn.clear_parameters()


def network():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def constant(a):
    return nn.Variable.from_numpy_array(a)


def squared_error(f, x, **options):
    return NF.mean(NF.squared_error(f(x, **options), constant(T)))


def test_parameters_are_registered_on_the_modules_memory():
    module = network()
    f = interop.as_parametric_function(module, "net")
    with nn.parameter_scope("outer"):
        f(constant(X))
    names = ["outer/net/0/weight", "outer/net/0/bias", "outer/net/1/weight", "outer/net/1/bias", "outer/net/3/weight",
             "outer/net/3/bias"]  # fmt: skip
    buffers = ["outer/net/1/running_mean", "outer/net/1/running_var", "outer/net/1/num_batches_tracked"]
    assert sorted(nn.get_parameters()) == sorted(names)
    assert sorted(nn.get_parameters(grad_only=False)) == sorted(names + buffers)
    nn.get_parameters()["outer/net/0/weight"].d[0, 0] = 7
    assert module[0].weight[0, 0] == 7
    assert interop.as_parametric_function(torch.nn.Linear(1, 1)).name == "linear"


def test_a_solver_trains_the_module(graph):
    module = network()
    f = interop.as_parametric_function(module)
    x = constant(X)
    solver = S.Adam(0.05)
    loss = squared_error(f, x, train=True)
    solver.set_parameters(nn.get_parameters())
    for _ in range(150):
        if graph == "static":
            loss.forward(clear_no_need_grad=True)
        else:
            loss = squared_error(f, x, train=True)
        solver.zero_grad()
        loss.backward(clear_buffer=True)
        solver.update()
    assert loss.d < 0.02
    # each run counts one batch; a dynamic graph also ran when it was built
    assert module[1].num_batches_tracked == (150 if graph == "static" else 151)
    y = f(x, train=False)
    y.forward()
    module.eval()
    np.testing.assert_array_equal(y.d, module(torch.from_numpy(X)).detach().numpy())


def test_gradients_are_those_of_torch():
    module = network()
    twin = copy.deepcopy(module)
    f = interop.as_parametric_function(module)
    x = nn.Variable.from_numpy_array(X, need_grad=True)
    loss = squared_error(f, x)
    for p in nn.get_parameters().values():
        p.grad.zero()
    x.grad.zero()
    loss.forward()
    loss.backward()
    t = torch.from_numpy(X).requires_grad_()
    (twin(t) - torch.from_numpy(T)).pow(2).mean().backward()
    np.testing.assert_allclose(x.g, t.grad, rtol=1e-4, atol=1e-7)
    for p, e in zip(nn.get_parameters().values(), twin.parameters(), strict=True):
        np.testing.assert_allclose(p.g, e.grad, rtol=1e-4, atol=1e-6)
    assert all(p.grad is None for p in module.parameters())


def test_a_gradient_penalty():
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    twin = copy.deepcopy(module)
    f = interop.as_parametric_function(module)
    x = nn.Variable.from_numpy_array(X, need_grad=True)
    with nn.parameter_scope("first"):
        h = PF.affine(x, 3)
    w, b = (torch.from_numpy(p.d.copy()).requires_grad_() for p in nn.get_parameters().values())
    (g,) = nn.grad([f(h)], [x])
    penalty = NF.sum(NF.pow_scalar(g, 2))
    for p in nn.get_parameters().values():
        p.grad.zero()
    penalty.forward()
    penalty.backward()
    t = torch.from_numpy(X).requires_grad_()
    (e,) = torch.autograd.grad(twin(t @ w + b).sum(), t, create_graph=True)
    e.pow(2).sum().backward()
    expected = [w.grad, b.grad, *(p.grad for p in twin.parameters())]
    for p, e in zip(nn.get_parameters().values(), expected, strict=True):
        np.testing.assert_allclose(p.g, 0 if e is None else e, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("suffix", ["h5", "protobuf"])
def test_files(tmp_path, suffix):
    module, x = network(), constant(X)
    f = interop.as_parametric_function(module, "net")
    for _ in range(3):
        f(x, train=True).forward()
    path = str(tmp_path / f"net.{suffix}")
    nn.save_parameters(path)
    nn.clear_parameters()
    nn.load_parameters(path)
    other = network()
    y = interop.as_parametric_function(other, "net")(x, train=False)
    y.forward()
    module.eval()
    np.testing.assert_array_equal(y.d, module(torch.from_numpy(X)).detach().numpy())
    assert other[1].num_batches_tracked == module[1].num_batches_tracked > 0
    assert other[1].num_batches_tracked.dtype == torch.int64


def test_scopes_have_parameters_of_their_own():
    module, x = torch.nn.Linear(3, 1), constant(X)
    f = interop.as_parametric_function(module)
    a, b = f(x, name="a"), f(x, name="b")
    nn.get_parameters()["b/weight"].d = np.zeros((1, 3), "f")
    b = f(x, name="b")
    NF.sink(a, b).forward()
    assert a.d.std() > 0 and b.d.std() == 0
    c = f(x, name="a")
    c.forward()
    np.testing.assert_array_equal(c.d, a.d)


def test_fixed_parameters_and_modes(graph):
    module, x = torch.nn.Dropout(0.5), nn.Variable.from_numpy_array(np.ones((50,), "f"), need_grad=True)
    f = interop.as_parametric_function(module)
    y = f(x, train=False)
    z = f(x, train=True)
    y.forward()
    z.forward()
    assert y.d.tolist() == [1] * 50 and 0 < (z.d == 0).sum() < 50
    g = interop.as_parametric_function(torch.nn.Linear(50, 1))
    y = NF.sum(g(NF.reshape(x, (1, 50)), fix_parameters=True))
    w = nn.get_parameters()["linear/weight"]
    w.grad.zero()
    x.grad.zero()
    y.forward()
    y.backward()
    assert not w.g.any() and x.g.any()
    module = torch.nn.Linear(2, 2)
    module.bias.requires_grad_(False)
    interop.as_parametric_function(module, "half")(constant(np.ones((1, 2), "f")))
    with nn.parameter_scope("half"):
        assert list(nn.get_parameters()) == ["weight"]


def test_between_chainer_functions():
    x = chainer.Variable(X)
    f = interop.as_parametric_function(torch.nn.Linear(3, 2, bias=False))
    (g,) = chainer.grad([F.sum(F.tanh(interop.to("chainer", f(F.sin(x)))))], [x], enable_double_backprop=True)
    w = nn.get_parameters()["linear/weight"]
    w.grad.zero()
    F.sum(g * g).backward()
    t, v = torch.from_numpy(X).requires_grad_(), torch.from_numpy(w.d.copy()).requires_grad_()
    (e,) = torch.autograd.grad(torch.tanh(t.sin() @ v.T).sum(), t, create_graph=True)
    e.pow(2).sum().backward()
    np.testing.assert_allclose(w.g, v.grad, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(x.grad, t.grad, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("call, error, message", [
    (lambda: interop.as_parametric_function(3), TypeError, "module: expected a torch.nn.Module, got int"),
    (lambda: interop.as_parametric_function(torch.nn.Linear(1, 1).double()), ValueError,
     "parameter or buffer weight is torch.float64, expected torch.float32"),
    (lambda: interop.as_parametric_function(torch.nn.Linear(1, 1))(np.ones((1, 1))), TypeError,
     "Linear: no argument is a Variable"),
])  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_another_shape_is_refused():
    interop.as_parametric_function(torch.nn.Linear(3, 2), "net")(constant(X))
    with pytest.raises(ValueError, match=r"weight' has shape \(2, 3\) already"):
        interop.as_parametric_function(torch.nn.Linear(3, 1), "net")(constant(X))
