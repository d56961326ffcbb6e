"""Element-wise functions of large arrays wait for each other; nothing that a program can do shows it."""

import gc
import threading

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import chainer, interop, ops
from compatgrad import mxnet as mx
from compatgrad.chainer import functions as F

SHAPE = (70, 1000)  # more elements than the fewest that wait
random = np.random.RandomState(0)
X = random.randn(*SHAPE)
X[0, :4] = np.nan, np.inf, -np.inf, -0.0


def hidden(dtype=np.float32, values=X):
    """The result of a function, whose array the program has not seen."""
    return F.identity(chainer.Variable(values.astype(dtype))) + chainer.Variable(np.zeros((), dtype))


def read(y):
    return y.array.copy()


def gelu(x, seen):
    return seen(seen(0.5 * x) * seen(1 + seen(F.erf(seen(x * 0.5**0.5)))))


def gelu_by_tanh(x, seen):
    inner = seen(seen(x + seen(0.044715 * seen(x**3))) * (2 / np.pi) ** 0.5)
    return seen(seen(0.5 * x) * seen(1 + seen(F.tanh(inner))))


def scaled_tanh(x, seen):
    return seen(seen(x * 1.5) * seen(-seen(F.tanh(seen(x * 0.7)))))


def others(x, seen):
    return seen(seen(-seen(x**2)) - seen(seen(2 - x) + seen(F.square(seen(x - 1)))))


CHAINS = [gelu, gelu_by_tanh, scaled_tanh, others]


def look(y):
    assert y.array is not None  # it is computed now
    return y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("backprop", [True, False])
def test_results_are_those_of_single_functions(chain, dtype, backprop):
    with chainer.using_config("enable_backprop", backprop):
        together = chain(hidden(dtype), lambda y: y)
        single = chain(hidden(dtype), look)
    np.testing.assert_array_equal(read(together), read(single))
    assert np.isnan(read(together)[0, 0])


@pytest.mark.parametrize("chain", CHAINS)
def test_results_that_a_program_keeps(chain):
    kept, single = [], []
    chain(hidden(), lambda y: kept.append(y) or y)
    chain(hidden(), lambda y: single.append(look(y)) or y)
    for y, z in zip(kept[::-1], single[::-1], strict=True):
        np.testing.assert_array_equal(read(y), read(z))


def test_threads_share_the_work():
    before = torch.get_num_threads()
    alone = read(gelu(hidden(), lambda y: y))
    try:
        torch.set_num_threads(3)
        np.testing.assert_array_equal(read(gelu(hidden(), lambda y: y)), alone)
    finally:
        torch.set_num_threads(before)


def test_an_array_seen_before_may_change_afterwards():
    x = hidden(values=np.ones(SHAPE))
    seen = x.array
    y = x * 2
    seen[...] = 7
    assert (read(y) == 2).all()


def test_an_array_seen_afterwards_may_change():
    x = hidden(values=np.ones(SHAPE))
    y = F.erf(x * 2)
    x.array[...] = 7
    assert (read(y) == read(F.erf(chainer.Variable(np.full(SHAPE, 2, np.float32))))).all()


def test_a_given_array_may_change_at_once():
    given = np.ones(SHAPE, np.float32)
    x = chainer.Variable(given)
    y = x * 2
    given[...] = 7
    assert (read(y) == 2).all()


def test_a_torch_tensor_of_an_array_may_change():
    x = hidden(values=np.ones(SHAPE))
    tensor = x.tensor
    y = x * 2
    tensor.fill_(7)
    assert (read(y) == 2).all()


def test_a_given_torch_tensor_may_change():
    x = torch.ones(SHAPE)
    y = ops.neg(x)
    x.zero_()
    assert bool((y.tensor == -1).all())


def test_a_native_variable_may_change():
    x = torch.ones(SHAPE)
    y = ops.neg(compatgrad.Variable(x)) * 2
    x.zero_()
    assert bool((y.tensor == -2).all())


def test_another_thread_reads_a_result():
    found = []
    y = gelu(hidden(), lambda y: y)
    thread = threading.Thread(target=lambda: found.append(read(y)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], read(gelu(hidden(), look)))


def test_inputs_that_a_node_has_kept():
    y = F.erf(hidden(values=np.ones(SHAPE)) * 2)
    assert (y.creator.inputs[0].data == 2).all()


def test_hooks_see_values():
    seen = []

    class Hook(chainer.FunctionHook):
        def forward_postprocess(self, function, in_data):
            seen.append(float(in_data[0].sum()))

    x = hidden(values=np.ones(SHAPE)) * 3
    with Hook():
        F.erf(x)
    assert seen == [3 * x.size]


def test_torch_reads_a_result():
    y = hidden(values=np.ones(SHAPE)) * 3
    assert float(interop.to("torch", y).sum()) == 3 * y.size


def test_a_finalizer_between_two_functions():
    class Reads:
        def __init__(self, y):
            self.y, self.me = y, self

        def __del__(self):
            totals.append(float(self.y.array.sum()))

    totals = []
    y = hidden(values=np.ones(SHAPE)) * 3
    Reads(y)
    gc.collect()
    z = y * 2
    assert totals == [3 * y.size]
    assert (read(z) == 6).all()


@pytest.mark.parametrize("chain", CHAINS)
def test_gradients(chain):
    """Those of the same functions one by one, of the first and the second order."""
    found = []
    for seen in (look, lambda y: y):
        x = chainer.Variable(np.random.RandomState(1).randn(*SHAPE))
        y = chain(x + 0.0, seen)
        (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        (ggx,) = chainer.grad([F.sum(gx * gx)], [x])
        y.grad = np.ones_like(y.array)
        y.backward()
        np.testing.assert_allclose(x.grad, gx.array, rtol=1e-12, atol=1e-14)
        found.append((read(y), x.grad, ggx.array))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def given(dtype=np.float32):
    return np.random.RandomState(2).randn(*SHAPE).astype(dtype)


def plain_pass(chain, seen, dtype=np.float32, **options):
    """Gradients of a leaf by a pass that is not recorded; the results in between."""
    x = chainer.Variable(np.random.RandomState(1).randn(*SHAPE).astype(dtype))
    results = []
    y = chain(F.identity(x) + chainer.Variable(np.zeros((), dtype)), lambda v: results.append(seen(v)) or v)
    y.grad = g = given(dtype)
    y.backward(**options)
    np.testing.assert_array_equal(g, given(dtype))
    return x, y, results


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_pass_that_is_not_recorded(chain, dtype):
    x = plain_pass(chain, lambda v: None, dtype)[0]
    v = chainer.Variable(x.array.astype(np.float64))
    g = chainer.Variable(given(np.float64))
    (want,) = chainer.grad([chain(v, look)], [v], [g], enable_double_backprop=True)
    tolerance = 3e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(x.grad, want.array, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("chain", CHAINS)
def test_a_pass_changes_nothing_but_gradients(chain):
    x, y, results = plain_pass(chain, lambda v: (v, read(v)))
    for v, before in results:
        np.testing.assert_array_equal(read(v), before)
    first = x.grad.copy()
    y.grad = given()
    y.backward()
    np.testing.assert_allclose(x.grad, 2 * first, rtol=1e-6)


@pytest.mark.parametrize("chain", CHAINS)
def test_gradients_that_are_retained(chain):
    grads = []
    for options in ({"retain_grad": True}, {"retain_grad": True, "enable_double_backprop": True}):
        x, _, results = plain_pass(chain, lambda v: v, **options)
        grads.append([v.grad for v in results] + [x.grad])
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chain", CHAINS)
def test_hooks_see_gradients(chain):
    class Hook(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            assert all(np.isfinite(g).all() and g.any() for g in out_grad if g is not None)

    with Hook():
        seen = plain_pass(chain, lambda v: None)[0].grad
    np.testing.assert_allclose(seen, plain_pass(chain, lambda v: None)[0].grad, rtol=1e-5, atol=1e-5)


def test_a_hook_of_one_function_sees_its_gradient():
    seen = []

    class Hook(chainer.FunctionHook):
        def backward_preprocess(self, function, in_data, out_grad):
            seen.append(out_grad[0].copy())

    x = chainer.Variable(np.ones(SHAPE, np.float32))
    h = F.identity(x) * 0.5
    h.creator.add_hook(Hook())
    y = F.tanh(h * 2) * 5
    y.grad = np.ones(SHAPE, np.float32)
    y.backward()
    np.testing.assert_allclose(seen[0], 10 * (1 - np.tanh(1) ** 2), rtol=1e-5)
    np.testing.assert_allclose(x.grad, 5 * (1 - np.tanh(1) ** 2), rtol=1e-5)


def test_a_function_in_python_reads_a_gradient():
    seen = []

    class Reads(chainer.Function):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, inputs, grads):
            seen.append(grads[0].copy())
            return (grads[0] * 2,)

    x = chainer.Variable(np.ones(SHAPE, np.float32))
    y = F.erf(Reads()(x) * 3) * 5
    y.grad = np.ones(SHAPE, np.float32)
    y.backward()
    slope = np.float32(5 * 3 * 2 / np.pi**0.5 * np.exp(-36.0))
    np.testing.assert_allclose(seen[0], slope, rtol=1e-5)
    np.testing.assert_allclose(x.grad, 2 * slope, rtol=1e-5)


def test_a_pass_that_fails_leaves_gradients():
    class Fails(chainer.Function):
        def forward(self, inputs):
            return (inputs[0].copy(),)

        def backward(self, inputs, grads):
            raise KeyError("no gradient")

    x = chainer.Variable(np.ones(SHAPE, np.float32))
    x.grad = np.full(SHAPE, 7, np.float32)
    y = F.tanh(Fails()(x) * 3) * 5
    y.grad = np.ones(SHAPE, np.float32)
    with pytest.raises(KeyError):
        y.backward()
    assert (x.grad == 7).all()
    assert (read(F.identity(x) * 2) == 2).all()


def test_several_users_of_a_result():
    """Sums of three gradients, and gradients of other functions."""
    grads = []
    for seen in (look, lambda v: v):
        x = chainer.Variable(np.random.RandomState(1).randn(*SHAPE))
        h = F.identity(x) * 1.0
        y = seen(h * 2) + seen(F.tanh(seen(h * 0.5))) - seen(h**3) + F.sigmoid(h) + F.sum(h)
        y.grad = np.ones(SHAPE)
        y.backward(retain_grad=seen is look)
        grads.append(x.grad)
    np.testing.assert_allclose(*grads, rtol=1e-12)


@pytest.mark.parametrize("request_", ["write", "add"])
def test_gradients_of_mxnet(request_):
    x = mx.nd.array(X[1:])
    x.attach_grad(request_)
    for _ in range(2):
        with mx.autograd.record():
            y = mx.nd.erf(x * 0.5) * 3 + (x * 2) ** 2
        y.backward()
    times = 2 if request_ == "add" else 1
    want = times * (3 * 0.5 * 2 / np.pi**0.5 * np.exp(-((X[1:] * 0.5) ** 2)) + 8 * X[1:])
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_second_gradients_by_differences():
    x = np.linspace(-3, 3, 70000)

    def gradient(at):
        v = chainer.Variable(at)
        (g,) = chainer.grad([gelu(v + 0.0, lambda y: y)], [v], enable_double_backprop=True)
        return v, g

    v, g = gradient(x)
    (second,) = chainer.grad([g], [v])
    e = 1e-5
    differences = (gradient(x + e)[1].array - gradient(x - e)[1].array) / (2 * e)
    np.testing.assert_allclose(second.array, differences, atol=1e-8)


@pytest.mark.parametrize("recording", [True, False])
def test_mxnet(recording):
    def chain(seen):
        x = mx.nd.array(X[1:]) + mx.nd.zeros(1)
        with mx.autograd.record() if recording else mx.autograd.pause():
            return seen(seen(0.5 * x) * seen(1 + seen(mx.nd.erf(seen(x * 0.5**0.5)))))

    def ready(y):
        y.wait_to_read()
        y.asnumpy()
        return y

    np.testing.assert_array_equal(chain(lambda y: y).asnumpy(), chain(ready).asnumpy())


def test_writing_into_an_mxnet_array():
    x = mx.nd.ones(SHAPE) + mx.nd.ones(1)
    y = x * 2
    x[:] = 7
    x += 1
    assert (y.asnumpy() == 4).all()
