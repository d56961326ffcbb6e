"""autograd.Function: functions with user-defined gradients. Row M06."""

import gc
import weakref

import numpy as np
import pytest

from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet.base import MXNetError
from tests.mxnet.test_autograd import flags, marked, numbers  # noqa: F401 - flags runs around each test


# ---- M06: Function -----------------------------------------------------------------------------------------------
class Cube(autograd.Function):
    """Saves an array that is neither an input nor an output."""

    def forward(self, x):
        square = x * x
        self.save_for_backward(square)
        return square * x

    def backward(self, gy):
        (square,) = self.saved_tensors
        return 3 * square * gy


class Logistic(autograd.Function):
    """Saves its output."""

    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, gy):
        (y,) = self.saved_tensors
        return gy * y * (1 - y)


class Product(autograd.Function):
    def forward(self, x, w):
        assert not autograd.is_recording()
        self.save_for_backward(x, w)
        return x * w, x + w

    def backward(self, g, h):
        x, w = self.saved_tensors
        return g * w + h, g * x + h


@pytest.mark.semantics("M06")
def test_function():
    x, w = marked(1, 2), marked(3, 4)
    with autograd.record():
        y, z = Product()(x, w)
        total = y * 2 + z
    total.backward()
    assert numbers(x.grad) == [7, 9] and numbers(w.grad) == [3, 5]
    with autograd.record():
        y, z = Product()(x, w)
    y.backward()  # the other output gets no gradient
    assert numbers(x.grad) == [3, 4]


@pytest.mark.semantics("M06")
def test_function_with_add_and_with_constants():
    x, w = marked(1, 2, req="add"), nd.array([3, 4])
    for _ in range(2):
        with autograd.record():
            y, _ = Product()(x, w)
        y.backward()
    assert numbers(x.grad) == [6, 8]
    with autograd.record():
        y, _ = Product()(w, w)
    with pytest.raises(MXNetError):
        y.backward()


@pytest.mark.semantics("M05")
@pytest.mark.parametrize("function, reference", [(Cube, lambda x: x * x * x), (Logistic, lambda x: nd.sigmoid(x))])
def test_function_is_differentiated_twice(function, reference):
    found = []
    for f in (lambda x: function()(x), reference):
        x = marked(0.3, -0.7)
        with autograd.record():
            (g,) = autograd.grad(f(x), x, create_graph=True)
            loss = g * g
        loss.backward()
        found.append((g.asnumpy(), x.grad.asnumpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


@pytest.mark.semantics("M06")
def test_a_gradient_by_numpy_cannot_be_differentiated_again():
    class Numpy(Product):
        def backward(self, g, h):
            x, w = self.saved_tensors
            return nd.array((g * w + h).asnumpy()), g * x + h

    x, w = marked(1, 2), marked(3, 4)
    with autograd.record():
        y, _ = Numpy()(x, w)
        assert numbers(autograd.grad(y, x, retain_graph=True)[0]) == [3, 4]
        assert numbers(autograd.grad(y, w, create_graph=True)[0]) == [1, 2]
        with pytest.raises(MXNetError, match="Numpy.backward: gradient 0 was not computed by operators"):
            autograd.grad(y, x, create_graph=True)


@pytest.mark.semantics("M06")
def test_function_instances_are_called_once():
    f = Cube()
    f(nd.ones(2))
    with pytest.raises(AssertionError, match="only be called once"):
        f(nd.ones(2))


@pytest.mark.semantics("M06")
@pytest.mark.parametrize(
    "result, message",
    [
        (lambda g: (g, g), "Wrong.backward: expected one NDArray per input, 1, got 2"),
        (lambda g: 3, "Wrong.backward: expected one NDArray per input, 1, got int"),
        (lambda g: [None], "Wrong.backward: gradient 0: expected an NDArray, got NoneType"),
        (lambda g: nd.ones(3), r"Wrong.backward: gradient 0 has shape \(3,\), its input \(2,\)"),
    ],
)
def test_wrong_gradients_of_a_function(result, message):
    class Wrong(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return result(g)

    x = marked(1, 2)
    with autograd.record():
        y = Wrong()(x)
    with pytest.raises(MXNetError, match=message):
        y.backward()
    assert numbers(x.grad) == [0, 0]


@pytest.mark.semantics("M06")
def test_an_exception_in_backward_reaches_the_caller():
    class Broken(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            raise ZeroDivisionError("mine")

    x, w, u = marked(1, 2), marked(3, 4), marked(5, 6)
    with autograd.record():
        y = Broken()(x * u) + w
    with pytest.raises(ZeroDivisionError, match="mine"):
        y.backward()
    # as MXNet 1.9.1: what was complete before the failure is written
    assert (numbers(x.grad), numbers(w.grad), numbers(u.grad)) == ([0, 0], [1, 1], [0, 0])
    with autograd.record():
        y = x * w
    y.backward()
    assert numbers(x.grad) == [3, 4]


class Look(autograd.Function):
    """The identity, which calls `look` in backward."""

    def __init__(self, look):
        super().__init__()
        self.look = look

    def forward(self, x):
        return x + 0

    def backward(self, g):
        self.look()
        return g


def test_a_gradient_is_written_when_nothing_is_added_to_it_any_more():
    """Otherwise two gradients of each parameter would be in memory until the pass ends."""
    x, w, late = marked(1, 2), marked(3, 4), marked(5, 6)
    seen = []
    with autograd.record():
        y = Look(lambda: seen.append([numbers(v.grad) for v in (x, w, late)]))(x * late) * w * late
    y.backward()
    assert seen == [[[0, 0], [25, 72], [0, 0]]]
    assert [numbers(v.grad) for v in (x, w, late)] == [[75, 144], [25, 72], [30, 96]]
    # a function that is not part of the pass reads w, too
    with autograd.record():
        other = w * 2
        y = Look(lambda: seen.append(numbers(w.grad)))(x) * w
    y.backward()
    other.backward()
    assert seen[1] == [25, 72]
    assert numbers(w.grad) == [2, 2]


def test_a_program_reads_a_gradient_array_that_the_pass_writes():
    # the numbers of MXNet 1.9.1
    a, b, c = marked(1, 2), marked(1, 2), marked(5, 6)
    a.grad[:] = 3
    with autograd.record():
        y = b * a.grad * c * a
    y.backward()
    assert [numbers(v.grad) for v in (a, b, c)] == [[15, 36], [75, 432], [3, 12]]


def handed_on(u, v, late):
    return nd.tanh(u) + v * late


def reshaped(u, v, late):
    return nd.tanh(u).reshape((2, 1)).reshape((2,)) + v * late


def copied(u, v, late):
    return (u * 1 + 0) + v * late


def joined(u, v, late):
    h = nd.tanh(u)
    return nd.concat(h[0:1], h[1:2], dim=0) + v * late


@pytest.mark.parametrize("network", [handed_on, reshaped, copied, joined])
def test_a_pass_starts_with_the_gradient_of_a_parameter(network):
    """Functions hand it on without a copy, while the pass writes the parameter's next gradient into its memory."""

    def gradients(start):
        u, v, k = marked(0.1, 0.2), marked(3, 4), marked(0.5, 0.6)
        v.grad[:] = nd.array([1, 2])
        with autograd.record():
            y = network(u, v, nd.tanh(nd.tanh(nd.tanh(k))))
        y.backward(start(v.grad))
        return [numbers(a.grad) for a in (u, v, k)]

    assert gradients(lambda g: g) == gradients(lambda g: g.copy())


def test_rows_that_wait_are_in_the_memory_of_a_gradient():
    def gradients(read):
        w, v, k = nd.array([[1, 2], [3, 4]]), marked(3, 4), marked(0.5, 0.6)
        w.attach_grad()
        v.grad[:] = nd.array([1, 2])
        row = read(v.grad).reshape((1, 2))
        with autograd.record():
            h = nd.FullyConnected(nd.array([[0.5, 0.6]]), w, num_hidden=2, no_bias=True)
            inner = nd.FullyConnected(row, w, nd.tanh(nd.tanh(nd.tanh(k))) * v, num_hidden=2)
            y = nd.FullyConnected(row, w, inner.reshape((2,)), num_hidden=2) + h
        y.backward()
        return [numbers(a.grad.reshape((-1,))) for a in (w, v, k)]

    assert gradients(lambda g: g) == gradients(lambda g: g.copy())


@pytest.mark.parametrize("req, old", [("write", 0), ("add", 1)])
def test_a_gradient_that_comes_after_the_complete_one(req, old):
    x, w = marked(1, 2), marked(3, 4)
    w.attach_grad(req)
    w.grad[:] = 1

    def rewire():
        assert numbers(w.grad) == [5 + old, 10 + old]
        with autograd.record():
            z = w * nd.array([3, 3])
        creator = z.node.creator_node
        del z
        h.node.creator_node = creator

    with autograd.record():
        h = x * 5
        y = Look(rewire)(h) * w
    y.backward()
    assert numbers(w.grad) == [5 + 3 * 3 + old, 10 + 3 * 4 + old]


def test_functions_do_not_leak():
    x = marked(1, 2)
    with autograd.record():
        f = Logistic()
        y = f(x)
    dead = weakref.ref(f)
    y.backward()
    del f, y
    gc.collect()
    assert dead() is None


def test_results_of_functions_that_are_not_recorded_are_unchecked():
    class Collect(autograd.Function):
        def forward(self, x):
            return None

    assert Collect()(nd.ones(2)) is None
    with pytest.raises(TypeError), autograd.record():
        Collect()(nd.ones(2))
