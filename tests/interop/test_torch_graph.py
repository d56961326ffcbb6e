"""Tensors with torch's history as inputs of the engine's graph, and the engine's results in torch's graph."""

import gc
import weakref

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop, ops


def leaf(*shape, seed=0):
    return torch.from_numpy(np.random.RandomState(seed).rand(*shape) + 0.5).requires_grad_()


def enter_chainer(t):
    return chainer.Variable(t)


def enter_native(t):
    return compatgrad.Variable(t)


def enter_mxnet(t):
    return mx.nd.NDArray(t)


ENTRIES = [enter_chainer, enter_native, enter_mxnet]


@pytest.mark.parametrize("enter", ENTRIES)
def test_a_leaf_enters(enter):
    w = leaf(3)
    x = enter(w)
    assert x.tensor.data_ptr() == w.data_ptr()
    with mx.autograd.record():
        y = F.sum(x * x)
    y.backward()
    torch.testing.assert_close(w.grad, 2 * w.detach())
    with mx.autograd.record():
        y = F.sum(enter(w) * 3)
    y.backward()
    torch.testing.assert_close(w.grad, 2 * w.detach() + 3)


@pytest.mark.parametrize("enter", ENTRIES)
def test_a_result_of_torch_enters(enter):
    w, v = leaf(3), leaf(3, seed=1)
    x = enter(torch.exp(w) * v)
    with mx.autograd.record():
        y = F.sum(x * x)
    y.backward()
    a, b = w.detach().requires_grad_(), v.detach().requires_grad_()
    ((torch.exp(a) * b) ** 2).sum().backward()
    torch.testing.assert_close([w.grad, v.grad], [a.grad, b.grad])


@pytest.mark.parametrize("frontend", ["chainer", "mxnet", "compatgrad", "nnabla"])
def test_to_takes_tensors_in_and_out(frontend):
    w = leaf(3).float().detach().requires_grad_()
    with nn.auto_forward(), mx.autograd.record():
        x = interop.to(frontend, w * 2)
        assert x._frontend.name == frontend
        t = interop.to("torch", NF.exp(x) if frontend == "nnabla" else F.sum(x * x))
    t.sum().backward()
    expected = 2 * torch.exp(2 * w.detach()) if frontend == "nnabla" else 8 * w.detach()
    torch.testing.assert_close(w.grad, expected)


def test_nnablas_static_graph_between_torch_and_torch():
    w = leaf(3).float().detach().requires_grad_()
    y = NF.exp(interop.to("nnabla", w * 2))
    t = interop.to("torch", y)
    t.sum().backward()
    torch.testing.assert_close(w.grad, 2 * torch.exp(2 * w.detach()))


def test_nnablas_parameters_get_gradients_of_torchs_pass():
    p = nn.Variable.from_numpy_array(np.array([1.0, 2.0], "f"), need_grad=True)
    p.grad.zero()
    interop.to("torch", NF.exp(p)).sum().backward()
    np.testing.assert_allclose(p.g, np.exp(p.d), rtol=1e-6)


def test_a_leaf_before_and_after_the_other_side():
    """The gradient of such a leaf is the sum over all paths, in torch and in the engine."""
    for enter in (enter_chainer, enter_native):
        w = leaf(3)
        x = enter(leaf(3, seed=1).detach().numpy() if enter is enter_chainer else leaf(3, seed=1).detach())
        h = enter(torch.sin(interop.to("torch", ops.exp(x))) * w)
        y = ops.sum(h * x * h)
        a, b = w.detach().requires_grad_(), x.tensor.clone().requires_grad_()
        k = torch.sin(torch.exp(b)) * a
        expected = torch.autograd.grad((k * b * k).sum(), [a, b], create_graph=True)
        found = torch.autograd.grad(interop.to("torch", y), w, create_graph=True)
        torch.testing.assert_close(found[0], expected[0])
        interop.to("torch", y).backward(retain_graph=True)
        torch.testing.assert_close([w.grad, torch.as_tensor(x.grad)], [e.detach() for e in expected])
        y.backward()  # gradients of leaves accumulate, as in Chainer and torch
        torch.testing.assert_close([w.grad, torch.as_tensor(x.grad)], [2 * e.detach() for e in expected])


def test_modules_of_networks_inside_the_engine():
    """A torch module of a link, called as a node of the engine's graph or in another frontend's network."""
    link = chainer.links.Linear(3, 2)
    module, x = interop.as_torch_module(link), chainer.Variable(np.ones((5, 3), "f"))
    F.sum(interop.call(module, x) ** 2).backward()
    found = [x.grad, *(p.grad.numpy() for p in module.parameters())]
    link.cleargrads()
    z = chainer.Variable(np.ones((5, 3), "f"))
    F.sum(link(z) ** 2).backward()
    grads = {n: p.grad for n, p in link.namedparams()}
    for a, b in zip(found, [z.grad, grads["/W"], grads["/b"]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    again = interop.as_chainer_link(module)
    again.cleargrads()
    (g,) = chainer.grad([F.sum(again(z) ** 2)], [z], enable_double_backprop=True)
    F.sum(g * g).backward()
    assert all(p.grad is not None for n, p in again.namedparams() if n == "/W")


def test_a_variable_that_a_module_holds_gets_its_gradient_from_inside_the_engine():
    w = chainer.Variable(np.full(3, 2.0, "f"))
    module = interop.as_torch_module(lambda v: v * w, frontend="chainer")
    x = chainer.Variable(np.ones(3, "f"))
    F.sum(interop.call(module, x)).backward()
    assert w.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


def test_parameters_of_torch_and_shared_ones():
    layer, w = torch.nn.Linear(3, 3), chainer.Parameter(np.ones(3, "f"))
    parameters = {"layer.weight": layer.weight, "a": w, "b": w}
    module = interop.as_torch_module(lambda v: interop.call(layer, v) * w, parameters, frontend="chainer")
    assert [n for n, _ in module.named_parameters()] == ["a", "layer.weight"]
    module(torch.ones(2, 3)).sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_hooks_of_torchs_leaves_are_called():
    w, seen = leaf(3), []
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    ops.sum(compatgrad.Variable(w * 2)).backward()
    assert len(seen) == 1 and seen[0].tolist() == [2, 2, 2]


def test_a_recorded_pass_leaves_history_in_grad():
    w = leaf(3)
    ops.sum(compatgrad.Variable(w) ** 3).backward(enable_double_backprop=True)
    (g,) = torch.autograd.grad(w.grad.sum(), w)
    torch.testing.assert_close(g, 6 * w.detach())


def test_a_tensor_without_history_enters_as_a_leaf():
    x = interop.to("chainer", torch.ones(2))
    assert isinstance(x, chainer.Variable) and x.requires_grad and x.creator is None


def test_results_leave_to_leaves_of_the_engine():
    x, w = chainer.Variable(leaf(3).detach().numpy()), leaf(3, seed=1)
    t = interop.to("torch", F.exp(x))
    assert t.requires_grad and t.dtype == torch.float64
    (t * w).sum().backward()
    np.testing.assert_allclose(x.grad, np.exp(x.array) * w.detach().numpy())
    torch.testing.assert_close(w.grad, t.detach())
    (interop.to("torch", x * 2) * 1).sum().backward()  # a second pass accumulates, as in Chainer
    np.testing.assert_allclose(x.grad, np.exp(x.array) * w.detach().numpy() + 2)


def test_gradients_of_two_paths_to_a_leaf_are_added():
    x = compatgrad.Variable(leaf(3).detach())
    a, b = interop.to("torch", x * x), interop.to("torch", x.sum())
    (a.sum() * b).backward()
    s = x.tensor
    torch.testing.assert_close(x.grad, 2 * s * s.sum() + (s * s).sum())


def test_mxnet_leaves_keep_their_grad_req():
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad("add")
    for _ in range(2):
        with mx.autograd.record():
            t = interop.to("torch", x * x)
        t.sum().backward()
    assert x.grad.asnumpy().tolist() == [4, 8]


def test_only_requested_inputs_get_a_gradient():
    x, w = chainer.Variable(leaf(3).detach().numpy()), leaf(3, seed=1)
    t = (interop.to("torch", F.exp(x)) * w).sum()
    (g,) = torch.autograd.grad(t, w)
    torch.testing.assert_close(g, torch.exp(x.tensor))
    assert x.grad is None


def test_there_and_back():
    """chainer.grad by a Variable before torch's part of the graph, and by one after it."""
    x, w = chainer.Variable(leaf(3).detach().numpy()), leaf(3, seed=1)
    h = chainer.Variable(torch.sin(interop.to("torch", F.exp(x))) * w)
    y = F.sum(h * h)
    gx, gh = chainer.grad([y], [x, h])
    z, v = x.tensor.clone().requires_grad_(), w.detach().requires_grad_()
    k = torch.sin(torch.exp(z)) * v
    e = torch.autograd.grad((k * k).sum(), [z, k])
    torch.testing.assert_close([gx.tensor, gh.tensor], list(e))
    assert w.grad is None  # chainer.grad writes to no leaf
    y.backward()
    torch.testing.assert_close(w.grad, torch.autograd.grad(((torch.sin(torch.exp(z)) * v) ** 2).sum(), v)[0])
    np.testing.assert_allclose(x.grad, e[0].numpy())


def chain(t, w, exp, sin):
    return exp(sin(t) * w)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("driver", ["torch", "chainer"])
def test_any_order_from_either_side(order, driver):
    w = leaf(3)
    x = chainer.Variable(leaf(3, seed=1).detach().numpy())
    a, b = w.detach().requires_grad_(), x.tensor.clone().requires_grad_()

    # torch -> engine -> torch -> engine
    h = F.exp(chainer.Variable(torch.sin(w)) * x)
    y = F.sum(chainer.Variable(torch.sin(interop.to("torch", h)) * w) ** 3)
    e = ((torch.sin(torch.exp(torch.sin(a) * b)) * a) ** 3).sum()
    if driver == "torch":
        y = interop.to("torch", y)
        for _ in range(order):
            (g,) = torch.autograd.grad(y, w, create_graph=True)
            y = g.sum()
        g.sum().backward()
    else:
        xw = chainer.Variable(w)
        h = F.exp(F.sin(xw) * x)
        y = F.sum(chainer.Variable(torch.sin(interop.to("torch", h)) * w) ** 3)
        e = ((torch.sin(torch.exp(torch.sin(a) * b)) * a.detach()) ** 3).sum()
        for _ in range(order):
            (g,) = chainer.grad([y], [xw], enable_double_backprop=True)
            y = F.sum(g)
        y.backward()
        e = ((torch.sin(torch.exp(torch.sin(a) * b)) * a) ** 3).sum()
    if driver == "torch":
        for _ in range(order):
            (f,) = torch.autograd.grad(e, a, create_graph=True)
            e = f.sum()
        e.backward()
        torch.testing.assert_close([w.grad, torch.from_numpy(x.grad)], [a.grad, b.grad])
    else:
        c = a.detach().requires_grad_()  # w in the last factor, whose path does not pass through xw
        e = ((torch.sin(torch.exp(torch.sin(a) * b)) * c) ** 3).sum()
        for _ in range(order):
            (f,) = torch.autograd.grad(e, a, create_graph=True)
            e = f.sum()
        e.backward()
        torch.testing.assert_close([w.grad, torch.from_numpy(x.grad)], [a.grad + c.grad, b.grad])


def test_gradcheck_through_both():
    x = compatgrad.Variable(leaf(2, 3, seed=1).detach())

    def f(t):
        h = ops.tanh(compatgrad.Variable(t * 2) * x)
        return interop.to("torch", h) * t

    assert torch.autograd.gradcheck(f, leaf(2, 3))
    assert torch.autograd.gradgradcheck(f, leaf(2, 3))


def test_a_loss_in_chainer_trains_torch_before_and_chainer_after():
    torch.manual_seed(0)
    body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh()).double()
    W = chainer.Parameter(np.random.RandomState(0).rand(8, 1))
    data, target = leaf(16, 4).detach(), leaf(16, 1, seed=3).detach().numpy()
    optimizer = torch.optim.SGD(body.parameters(), 0.1)
    losses = []
    for _ in range(30):
        loss = F.mean_squared_error(F.matmul(chainer.Variable(body(data)), W), target)
        W.cleargrad()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        W.array -= 0.1 * W.grad
        losses.append(float(loss.array))
    assert losses[-1] < 0.2 * losses[0]


def test_constants_stay_constants():
    w = leaf(3)
    assert not interop.to("torch", chainer.Variable(np.ones(2, "f"), requires_grad=False) * 2).requires_grad
    assert chainer.Variable(w, requires_grad=False).creator is None
    with chainer.no_backprop_mode():
        assert chainer.Variable(w * 2).creator is None
    x = chainer.Variable(np.ones(2, "f"))
    with torch.no_grad():
        assert not interop.to("torch", x * 2).requires_grad


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, t: torch.func.jvp(f, (t,), (t,)),
        lambda f, t: torch.func.grad(lambda u: f(u).sum())(t),
        lambda f, t: torch.func.vmap(f)(t),
    ],
)
@pytest.mark.parametrize(
    "f", [lambda t: interop.to("torch", F.exp(chainer.Variable(t))), lambda t: interop.to("nnabla", t).data.tensor]
)
def test_transforms_of_torch_func_are_refused(transform, f):
    with pytest.raises(RuntimeError, match="forward-mode differentiation and the transforms of torch.func"):
        transform(f, torch.ones(3))


def test_functions_that_take_arrays_refuse_tensors_with_history():
    x = compatgrad.Variable(torch.ones(3))
    with pytest.raises(ValueError, match="requires torch's grad"):
        x.tensor = leaf(3)


def test_writing_in_place_is_detected():
    x = compatgrad.Variable(leaf(3).detach())
    t = interop.to("torch", ops.tanh(x))
    t.detach().mul_(2)
    with pytest.raises(RuntimeError, match="changed in place"):
        t.sum().backward()


def test_errors_of_a_hook_come_through():
    x = chainer.Variable(leaf(3).detach().numpy())

    class Stop(chainer.FunctionNode):
        def forward(self, xs):
            return xs

        def backward(self, indexes, gys):
            raise KeyError("mine")

    t = interop.to("torch", Stop().apply((x,))[0])
    with pytest.raises(KeyError, match="mine"):
        t.sum().backward()

    class TorchStop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise KeyError("yours")

    y = F.sum(interop.call(TorchStop.apply, x))
    with pytest.raises(KeyError, match="yours"):
        y.backward()


def test_graphs_are_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        w = leaf(3)
        x = chainer.Variable(leaf(3, seed=1).detach().numpy())
        h = interop.to("torch", chainer.Variable(w * 2) * x)
        y = F.sum(chainer.Variable(h * 2))
        (g,) = chainer.grad([y], [x], enable_double_backprop=True)
        F.sum(g * g).backward()
        dead = [weakref.ref(o) for o in (h, y, g, y.creator)]
        del h, y, g
        assert [d() for d in dead] == [None] * 4
    finally:
        gc.enable()


def test_threads():
    import threading

    errors = []

    def work(seed):
        try:
            for _ in range(50):
                w, x = leaf(3), compatgrad.Variable(leaf(3, seed=seed).detach())
                interop.to("torch", ops.exp(compatgrad.Variable(w * 2) * x)).sum().backward()
                expected = 2 * x.tensor * torch.exp(2 * w.detach() * x.tensor)
                torch.testing.assert_close(w.grad, expected)
        except Exception as e:  # the assertion below shows it
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_an_inner_pass_goes_beyond_the_inputs_of_the_outer_one():
    w, seen = leaf(3), []
    x = compatgrad.Variable(w * 2)
    other = ops.sum(x * 1)

    def f(t):
        y = t * 3
        y.register_hook(lambda g: seen.append(other.backward()))
        return y

    t = interop.to("torch", ops.sum(interop.call(f, x)))
    (g,) = torch.autograd.grad(t, w, retain_graph=True)
    assert g.tolist() == [6, 6, 6] and len(seen) == 1 and w.grad.tolist() == [2, 2, 2]


def test_nnablas_values_keep_their_history_on_the_way_to_mxnet():
    p = nn.Variable.from_numpy_array(np.array([1.0, 2.0], "f"), need_grad=True)
    p.grad.zero()
    x = interop.to("mxnet", NF.exp(p))
    with mx.autograd.record():
        y = x * 2
    y.backward()
    np.testing.assert_allclose(p.g, 2 * np.exp(p.d), rtol=1e-6)


def test_hooks_that_only_torchs_pass_calls_are_an_error():
    layer = torch.nn.Linear(3, 1)
    accumulator = layer.weight.view_as(layer.weight).grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda *args: None)
    y = interop.call(layer, compatgrad.Variable(torch.ones(2, 3)))
    with pytest.raises(RuntimeError, match="interop.to"):
        ops.sum(y).backward()
    interop.to("torch", ops.sum(interop.call(layer, compatgrad.Variable(torch.ones(2, 3))))).backward()
    assert layer.weight.grad.tolist() == [[2, 2, 2]]


def test_a_variable_without_a_value_is_refused():
    with pytest.raises(ValueError, match="Variable 0 of the arguments has no value yet"):
        interop.call(torch.exp, chainer.Parameter())
