"""torch modules and functions as nodes of the graphs of the eager frontends."""

import gc
import weakref

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.mxnet as mx
from compatgrad import interop


@pytest.fixture
def net():
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    return torch.nn.Sequential(*layers).double()


def taken(net):
    gradients = [p.grad for p in net.parameters()]
    for p in net.parameters():
        p.grad = None
    return gradients


def close(a, b):
    for u, v in zip(a, b, strict=True):
        torch.testing.assert_close(torch.as_tensor(u), torch.as_tensor(v))


DATA = np.random.RandomState(0).rand(5, 3)


def test_gradients_reach_variables_and_parameters(net):
    x = chainer.Variable(DATA.copy())
    y = interop.call(net, x)
    assert isinstance(y, chainer.Variable) and y.creator is not None
    F.sum(y * y).backward()
    t = torch.tensor(DATA, requires_grad=True)
    got = taken(net)
    (net(t) ** 2).sum().backward()
    close([x.grad, *got], [t.grad, *taken(net)])


def test_parameters_accumulate(net):
    for _ in range(2):
        F.sum(interop.call(net, chainer.Variable(DATA.copy()))).backward()
    got = taken(net)
    for _ in range(2):
        net(torch.tensor(DATA)).sum().backward()
    close(got, taken(net))


def test_gradient_penalty_through_a_module(net):
    x = chainer.Variable(DATA.copy())
    (g,) = chainer.grad([F.sum(interop.call(net, x) ** 2)], [x], enable_double_backprop=True)
    assert all(p.grad is None for p in net.parameters())  # chainer.grad does not write to the parameters' gradients
    F.sum(g * g * g).backward()
    got = taken(net)
    t = torch.tensor(DATA, requires_grad=True)
    (h,) = torch.autograd.grad((net(t) ** 2).sum(), t, create_graph=True)
    (h**3).sum().backward()
    close([x.grad, *got], [t.grad, *taken(net)])


def test_any_order():
    x = compatgrad.Variable(torch.full((2,), 3.0, dtype=torch.float64))
    y = interop.call(lambda t: (t**4).sum(), x)
    for _ in range(3):
        (y,) = compatgrad.grad(y, x, enable_double_backprop=True)
        y = y.sum()
    y.backward()
    assert x.grad.tolist() == [24, 24]


def test_a_function_and_what_it_holds():
    w = torch.full((3,), 2.0, dtype=torch.float64, requires_grad=True)
    x = chainer.Variable(DATA.copy())
    a, b = interop.call(lambda t, scale=1: (t * w * scale, t + scale), x, scale=3)
    assert isinstance(a, chainer.Variable)
    F.sum(a * 2 + b).backward()
    np.testing.assert_allclose(x.grad, np.full((5, 3), 13.0))
    np.testing.assert_allclose(w.grad, 6 * DATA.sum(0))


def test_one_output_of_two_is_used():
    x = chainer.Variable(DATA.copy())
    a, _ = interop.call(lambda t: (t * 2, t * 3), x)
    F.sum(a).backward()
    np.testing.assert_allclose(x.grad, np.full((5, 3), 2.0))


def test_variables_inside_structures():
    x, w = chainer.Variable(DATA.copy()), chainer.Variable(DATA.copy())
    y = interop.call(lambda pair, key: pair[0] * pair["w"] if isinstance(pair, dict) else torch.stack(pair) * key["k"],
                     [x, w], key={"k": x})  # fmt: skip
    F.sum(y).backward()
    np.testing.assert_allclose(w.grad, DATA)
    np.testing.assert_allclose(x.grad, 3 * DATA)


def test_mxnet(net):
    x = mx.nd.array(DATA, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = interop.call(net, x)
    assert isinstance(y, mx.nd.NDArray)
    y.backward()
    got = taken(net)
    t = torch.tensor(DATA, requires_grad=True)
    net(t).sum().backward()
    close([x.grad.asnumpy(), *got], [t.grad, *taken(net)])


def test_nothing_is_recorded_without_gradients(net):
    x = chainer.Variable(DATA.copy())
    with chainer.no_backprop_mode():
        assert interop.call(net, x).creator is None
    y = interop.call(net, mx.nd.array(DATA, dtype="float64"))
    with pytest.raises(mx.MXNetError):
        y.backward()


def test_results_outside_record_are_constants(net):
    x = mx.nd.array(DATA, dtype="float64")
    x.attach_grad()
    y = interop.call(net, x)
    with mx.autograd.record():
        z = y * 2
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        z.backward()


def test_a_call_outside_record_continues_a_history(net):
    """MXNet's recording flag applies to MXNet's operators only. Otherwise the module would silently be a constant."""
    x = mx.nd.array(DATA, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        h = x * 2
    interop.call(net, h).backward()
    got = taken(net)
    t = torch.tensor(DATA, requires_grad=True)
    net(t * 2).sum().backward()
    close([x.grad.asnumpy(), *got], [t.grad, *taken(net)])
    with mx.autograd.record():
        h = x * 2
    with compatgrad.no_backprop_mode():
        y = interop.call(net, h)
    with pytest.raises(mx.MXNetError, match="not in a computational graph"):
        y.backward()


def test_buffers_move_once_and_modes_are_the_modules():
    bn = torch.nn.BatchNorm1d(3).double()
    x = chainer.Variable(DATA.copy())
    (g,) = chainer.grad([F.sum(interop.call(bn, x) ** 3)], [x], enable_double_backprop=True)
    F.sum(g * g).backward()
    assert bn.num_batches_tracked.item() == 1
    bn.eval()
    interop.call(bn, x)
    assert bn.num_batches_tracked.item() == 1


def test_hooks_see_it(net):
    seen = []

    class Hook(chainer.FunctionHook):
        def forward_postprocess(self, function, in_data):
            seen.append("forward")

        def backward_postprocess(self, function, in_data, out_grad):
            seen.append("backward")

    with Hook():
        y = interop.call(net, chainer.Variable(DATA.copy()))
        y.grad = np.ones_like(y.array)
        y.backward()
    assert seen[0] == "forward" and seen[-1] == "backward"


def test_nothing_leaks(net):
    x = chainer.Variable(DATA.copy())
    y = interop.call(net, x)
    dead = weakref.ref(y)
    F.sum(y).backward()
    del y
    parameter = weakref.ref(next(net.parameters()))
    net[0] = torch.nn.Identity()
    gc.collect()
    assert dead() is None and parameter() is None


def test_bad_calls(net):
    with pytest.raises(TypeError, match="interop.call: no argument of Sequential is a Variable, got Tensor, int;"):
        interop.call(net, torch.zeros(2, 3), n=3)
    with pytest.raises(TypeError, match="output of <lambda>: expected a tensor, or tensors in .*, got str"):
        interop.call(lambda t: "no", chainer.Variable(DATA.copy()))
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        interop.call(net, chainer.Variable(np.ones((2, 7))))


def test_large_tensors():
    """Kernels on large tensors run without the interpreter lock, which a torch function must take again."""
    x = chainer.Variable(np.ones((600, 600), "f"))
    y = interop.call(lambda t: t * 2, x)
    F.sum(y).backward()
    assert (y.array == 2).all() and (x.grad == 2).all()
