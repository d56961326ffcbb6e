"""A pass writes the gradient of a large matrix into the memory of the last pass's gradient."""

import numpy as np
import pytest

from compatgrad.mxnet import autograd, nd
from tests.core.test_waiting_gradients import peak_of
from tests.mxnet.test_autograd import flags  # noqa: F401 - runs around each test

N = 256
random = np.random.RandomState(0)


def floats(*shape):
    return nd.array(random.rand(*shape))


def marked(*shape, req="write"):
    """A leaf with a gradient."""
    x = floats(*shape)
    x.attach_grad(req)
    with autograd.record():
        y = x * floats(*shape)
    y.backward()
    return x


def dense(x, w):
    return nd.FullyConnected(x, w, num_hidden=w.shape[0], no_bias=True)


def looked_up(ids, w):
    return nd.Embedding(ids, w, input_dim=w.shape[0], output_dim=w.shape[1])


IDS = nd.array([1, 3, 1, 4090])
NETWORKS = {
    "dense": (lambda w: dense(nd.ones((2, N)), w), (4096, N)),
    "dot": (lambda w: nd.dot(nd.ones((2, 4096)), w), (4096, N)),
    "embedding": (lambda w: looked_up(IDS, w), (4096, N)),
}


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_second_gradient_of_a_matrix_needs_no_memory(name, req):
    network, shape = NETWORKS[name]
    w = marked(*shape, req=req)
    old = w.grad.asnumpy()
    with autograd.record():
        y = network(w)
    peak = peak_of(y.backward)
    expected = np.zeros(shape, np.float32)
    if name == "embedding":
        np.add.at(expected, IDS.asnumpy().astype(int), 1)
    else:
        expected += 2
    np.testing.assert_array_equal(w.grad.asnumpy(), expected + old if req == "add" else expected)
    assert peak < expected.nbytes // 4 or req == "add"


def test_several_look_ups_add_to_one_table():
    w = marked(4096, N)
    with autograd.record():
        y = [looked_up(IDS + k, w) * (k + 1) for k in range(3)]
        total = y[0] + y[1] + y[2]
    assert peak_of(total.backward) < w.size * 4 * 1.5
    expected = np.zeros(w.shape, np.float32)
    for k in range(3):
        np.add.at(expected, IDS.asnumpy().astype(int) + k, k + 1)
    np.testing.assert_array_equal(w.grad.asnumpy(), expected)


def in_place_and_from_a_copy(program):
    """The gradients of a program that reads a gradient's memory, and of one that reads a copy."""
    found = []
    for start in (lambda g: g, lambda g: g.copy()):
        random.seed(1)
        found.append([x.grad.asnumpy() for x in program(start)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_function_reads_the_last_gradient():
    def program(start):
        w, x = marked(N, N), start
        with autograd.record():
            y = dense(x(w.grad), w)
        y.backward()
        return [w]

    in_place_and_from_a_copy(program)


def test_the_pass_starts_with_the_last_gradient():
    def program(start):
        w, v = marked(N, N), marked(N, N)
        with autograd.record():
            y = nd.tanh(dense(floats(N, N), w) + v * nd.tanh(dense(floats(N, N), v)))
        y.backward(start(w.grad))
        return [w, v]

    in_place_and_from_a_copy(program)


def test_rows_that_wait_are_in_the_last_gradient():
    def program(start):
        w, v = marked(N, N), marked(N, N)
        with autograd.record():
            y = dense(floats(N, N), w) + (dense(start(v.grad), w) + dense(floats(N, N), v))
        y.backward()
        return [w, v]

    in_place_and_from_a_copy(program)


def test_another_library_sees_the_gradient():
    w = marked(N, N)
    seen = w.grad.tensor
    with autograd.record():
        y = dense(nd.ones((2, N)), w)
    y.backward()
    assert (seen == 2).all() and (w.grad.asnumpy() == 2).all()
