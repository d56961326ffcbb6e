"""`_C.watch_leaves`: gradients of leaves that are final while the rest of a pass still runs."""

import gc
import threading
import weakref

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad import _C

RNG = np.random.default_rng(0)


def leaf(*shape):
    return chainer.Variable(RNG.uniform(-1, 1, shape))


def watched(leaves, y):
    """(number of the leaf, gradient when it was told), in order; and the functions visited before each."""
    told, visited = [], []

    class Visits(chainer.FunctionHook):
        def backward_postprocess(self, function, in_data, out_grad):
            visited.append(function.label)

    _C.watch_leaves(leaves, lambda i, g: told.append((i, g, g.clone(), len(visited))))
    with Visits():
        y.backward()
    return told, visited


def test_each_leaf_is_told_once_with_its_sum():
    a, b, c = leaf(3), leaf(3), leaf(3)
    h = F.exp(a)
    y = F.sum(F.sin(h * b) * b + a * c)
    told, visited = watched([a, b, c], y)
    assert sorted(i for i, *_ in told) == [0, 1, 2]
    for i, g, then, _ in told:
        grad = [a, b, c][i].grad
        np.testing.assert_array_equal(then.numpy(), grad)
        assert g.data_ptr() == grad.ctypes.data  # the very memory that the Variable gets
    order = [i for i, *_ in told]
    assert order.index(2) < order.index(0)  # c is read near the end, a first of all
    assert dict((i, n) for i, *_, n in told)[2] < len(visited)


def test_gradients_of_before_are_part_of_the_sum():
    a = leaf(2)
    a.grad = np.ones(2)
    told, _ = watched([a], F.sum(a * 3))
    assert told[0][2].tolist() == [4, 4] and a.grad.tolist() == [4, 4]


def test_one_leaf_twice_in_a_function_and_in_the_list():
    a = leaf(2)
    told, _ = watched([a, a], F.sum(a * a))
    assert len(told) == 1
    np.testing.assert_allclose(told[0][2].numpy(), 2 * a.array)


def test_leaves_that_the_pass_does_not_reach_are_not_told():
    a, b, outside = leaf(2), leaf(2), leaf(2)

    class Stops(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 1,)

        def backward(self, indexes, grads):
            return (None,)

    y = F.sum(a * 2) + F.sum(Stops().apply((b,))[0]) + F.sum(Stops().apply((a * b,))[0])
    told, _ = watched([a, b, outside], y)
    # the product's function is never visited, so that nobody knows that a has all of its gradient
    assert told == [] and a.grad.tolist() == [2, 2] and b.grad is None


def test_a_watch_is_for_one_pass_of_its_thread():
    a, told = leaf(2), []
    _C.watch_leaves([a], lambda i, g: told.append(i))
    other = threading.Thread(target=lambda: F.sum(leaf(2) * 2).backward())
    other.start()
    other.join()
    chainer.grad([F.sum(a * 2)], [a])
    assert told == []
    F.sum(a * 2).backward()
    F.sum(a * 2).backward()
    assert told == [0]
    _C.watch_leaves([a], lambda i, g: told.append(i))
    _C.watch_leaves((), None)
    F.sum(a * 2).backward()
    assert told == [0]


def test_an_exception_of_the_callback_ends_the_pass():
    a, b = leaf(2), leaf(2)
    a.grad = before = np.ones(2)

    def fail(i, g):
        raise KeyError("planned")

    _C.watch_leaves([b], fail)
    with pytest.raises(KeyError, match="planned"):
        F.sum(F.exp(a) * b).backward()
    assert a.grad is before and b.grad is None
    F.sum(F.exp(a) * b).backward()
    np.testing.assert_allclose(b.grad, np.exp(a.array))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="callable"):
        _C.watch_leaves([leaf(1)], 3)
    with pytest.raises(TypeError, match="leaves"):
        _C.watch_leaves([np.zeros(2)], print)
    with pytest.raises(TypeError):
        _C.watch_leaves([leaf(1)])


def test_a_watch_that_was_taken_back_holds_nothing():
    class Callback:
        def __call__(self, i, g):
            pass

    callback = Callback()
    gone = weakref.ref(callback)
    _C.watch_leaves([leaf(2)], callback)
    del callback
    _C.watch_leaves((), None)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)
    leaves = [leaf(2) for _ in range(4)]
    values = list(leaves)
    for _ in range(rng.integers(3, 15)):
        i, j = rng.integers(0, len(values), 2)
        values.append(
            [lambda x, y: x * y, lambda x, y: x + y, lambda x, y: F.sin(x)][rng.integers(3)](values[i], values[j])
        )
    told, _ = watched(leaves, F.sum(values[-1]))
    assert len({i for i, *_ in told}) == len(told)
    assert {i for i, *_ in told} == {i for i, x in enumerate(leaves) if x.grad is not None}
    for i, _, then, _ in told:
        np.testing.assert_array_equal(then.numpy(), leaves[i].grad)
