"""Compiled functions that run backward passes, when what surrounds them changes between calls: how gradients are
received, arrays that are shared, other threads."""

import threading

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("f")


def assert_equal(expected, found):
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


# ---- nnabla ----------------------------------------------------------------------------------------------------------


class Deferred:
    """A step of two parameters, as written or compiled, and what calls leave."""

    def __init__(self, compiles, prepare):
        self.w = nn.Variable.from_numpy_array(numbers(4, 3, seed=1), need_grad=True)
        self.b = nn.Variable.from_numpy_array(numbers(3, seed=2), need_grad=True)
        self.found = []

        def step(x):
            loss = NF.sum(NF.tanh(NF.affine(x, self.w)) ** 2) + NF.sum(self.b * self.b)
            prepare(self)
            loss.forward()
            loss.backward()
            return loss

        self.step = interop.compile(step, parameters={"w": self.w, "b": self.b}) if compiles else step

    def __call__(self):
        y = self.step(nn.Variable.from_numpy_array(numbers(2, 4)))
        self.found += [y.d.copy(), self.w.g.copy(), self.b.g.copy()]


def both(program, prepare):
    steps = [Deferred(compiles, prepare) for compiles in (False, True)]
    for s in steps:
        program(s)
    assert_equal(steps[0].found, steps[1].found)


def test_gradients_filled_with_a_number_before_a_call():
    """fill and an assigned number touch no memory until something reads it."""

    def program(s):
        s.w.grad.fill(3)
        s.b.g = 2
        s()
        s.w.grad.zero()
        s.b.grad.fill(5)
        s()

    both(program, lambda s: None)


def test_gradients_filled_with_a_number_in_the_function():
    def prepare(s):
        s.w.grad.fill(0.5)
        s.b.grad.zero()

    both(lambda s: (s(), s()), prepare)

    def constant(s):
        s.w.grad.zero()
        s.b.need_grad = False
        s.b.grad.fill(2)

    both(lambda s: (s(), s()), constant)


def test_need_grad_that_changes_between_calls():
    def program(s):
        for first, second in [(True, True), (False, True), (True, False), (True, True)]:
            s.w.need_grad, s.b.need_grad = first, second
            s()

    both(program, lambda s: (s.w.grad.zero(), s.b.grad.zero()))


# ---- MXNet -----------------------------------------------------------------------------------------------------------


def attached_step(a):
    def step(x):
        with mx.autograd.record():
            loss = (mx.nd.tanh(mx.nd.dot(x, a)) ** 2).sum()
        loss.backward()
        return loss

    return step


@pytest.mark.parametrize("requests", [("write", "add", "add"), ("add", "write", "write")])
def test_arrays_that_are_attached_again_with_another_request(requests):
    found = []
    for compiles in (False, True):
        a = mx.nd.array(numbers(3, 4))
        step = attached_step(a)
        step = interop.compile(step, parameters={"a": a}, frontend="mxnet") if compiles else step
        own, before = [], None
        for request in requests:
            if request != before:
                a.attach_grad(request)
                before = request
            for _ in range(2):
                own += [step(mx.nd.array(numbers(2, 3))).asnumpy(), a.grad.asnumpy()]
        found.append(own)
    assert_equal(*found)


def test_an_array_that_is_excluded_is_an_error_as_without_compiling():
    a = mx.nd.array(numbers(3, 4))
    a.attach_grad()
    step = interop.compile(attached_step(a), parameters={"a": a}, frontend="mxnet")
    x = mx.nd.array(numbers(2, 3))
    step(x)
    expected = a.grad.asnumpy()
    a.attach_grad("null")
    with pytest.raises(mx.base.MXNetError, match="null"):
        step(x)
    a.attach_grad()
    step(x)
    assert_equal([expected], [a.grad.asnumpy()])


def test_inputs_that_are_gradients_of_the_function_are_refused():
    """The function writes the first gradient before it reads the second one."""
    a, b = (mx.nd.array(numbers(3, seed=k)) for k in range(2))
    a.attach_grad()
    b.attach_grad()

    def step(x, y):
        with mx.autograd.record():
            loss = (a * y).sum() + (b * x).sum()
        loss.backward()
        return loss

    compiled = interop.compile(step, parameters={"a": a, "b": b}, frontend="mxnet")
    compiled(mx.nd.array(numbers(3)), mx.nd.array(numbers(3, seed=1)))
    kept = [a.grad.asnumpy(), b.grad.asnumpy()]
    for x, y, name in [(a.grad, b.grad, "x"), (mx.nd.array(numbers(3)), b.grad[:], "y")]:
        with pytest.raises(interop.ExportError, match=f"{name} shares its memory"):
            compiled(x, y)
    assert_equal(kept, [a.grad.asnumpy(), b.grad.asnumpy()])
    compiled(a.grad.copy(), b.grad.copy())
    assert_equal(kept[::-1], [a.grad.asnumpy(), b.grad.asnumpy()])


# ---- Chainer ---------------------------------------------------------------------------------------------------------


def network():
    np.random.seed(1)
    return chainer.ChainList(L.Linear(3, 8), L.Linear(8, 3))


def regression(net):
    def step(x, t):
        loss = F.mean_squared_error(net[1](F.tanh(net[0](x))), t)
        net.cleargrads()
        loss.backward()
        return loss

    return step


def test_batches_without_samples():
    net = network()
    step = regression(net)
    compiled = interop.compile(step, parameters=net)
    for n in (0, 2, 0):
        found = []
        for f in (step, compiled):
            y = f(numbers(n, 3), numbers(n, 3, seed=1))
            found.append([y.array, *(p.grad for p in net.params())])
        assert_equal(*found)


def test_tensors_that_are_negative_views():
    """torch keeps the sign of such a tensor apart from its memory."""
    net = network()
    compiled = interop.compile(regression(net), parameters=net)
    t = torch.from_numpy(numbers(2, 3))
    views = [torch._neg_view(t), torch.view_as_complex(torch.from_numpy(numbers(2, 3, 2))).conj().imag]
    for x in views:
        found = []
        for given in (x.clone().resolve_neg().contiguous(), x):
            y = compiled(given, t)
            found.append([y.numpy(), *(p.grad for p in net.params())])
        assert_equal(*found)


def test_first_calls_in_several_threads():
    """A function is traced in one thread at a time, while calls in others wait."""
    net = network()

    def step(x):
        loss = F.sum(F.tanh(net[0](x)))
        loss.backward()
        return loss

    compiled, found, errors = interop.compile(step, parameters=net), {}, []
    compiled(chainer.Variable(numbers(1, 3)))

    def work(k):
        try:
            for _ in range(20):
                x = chainer.Variable(numbers(1 + k % 3, 3, seed=k))
                y = compiled(x)
            found[k] = [y.array, x.grad]
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for k in range(6):
        x = chainer.Variable(numbers(1 + k % 3, 3, seed=k))
        assert_equal([step(x).array, x.grad], found[k])


@pytest.mark.parametrize("recorded", [False, True])
def test_labels_out_of_range_are_the_error_of_the_function(recorded):
    net = L.Linear(3, 3)

    def loss(x, t):
        return F.softmax_cross_entropy(net(x), t)

    def step(x, t):
        net.cleargrads()
        y = loss(x, t)
        y.backward()
        return y

    compiled = interop.compile(loss if recorded else step, parameters=net, backend="inductor")
    x, t = chainer.Variable(numbers(2, 3)), np.array([0, 1], np.int32)
    expected = loss(x, t).array
    for wrong in (7, 3):
        np.testing.assert_allclose(compiled(x, t).array, expected, rtol=1e-5)
        for f in (loss, compiled):
            with pytest.raises(IndexError, match="out of range"):
                f(x, np.array([0, wrong], np.int32))


def test_labels_out_of_range_in_nnabla():
    w = nn.Variable.from_numpy_array(numbers(3, 3), need_grad=True)

    def step(x, t):
        loss = NF.sum(NF.softmax_cross_entropy(NF.affine(x, w), t))
        loss.forward()
        loss.backward()
        return loss

    compiled = interop.compile(step, parameters={"w": w}, backend="inductor")
    x, t = nn.Variable.from_numpy_array(numbers(2, 3)), nn.Variable.from_numpy_array(np.array([[0], [1]]))
    compiled(x, t)
    t.d = [[0], [7]]
    with pytest.raises(RuntimeError, match="out of range"):
        compiled(x, t)


def test_a_number_of_a_closure_is_that_of_the_first_trace():
    """As docs/mixing.md says; arguments may change."""
    factor = 2.0
    closed = interop.compile(lambda x: x * factor, backend="eager")
    given = interop.compile(lambda x, factor: x * factor, backend="eager")
    x = chainer.Variable(np.ones(3, "f"))
    assert closed(x).array.tolist() == given(x, factor).array.tolist() == [2, 2, 2]
    factor = 3.0
    assert closed(x).array.tolist() == [2, 2, 2] and given(x, factor).array.tolist() == [3, 3, 3]
