"""Where gradients are stored, and when they are freed."""

import tracemalloc

import numpy as np
import pytest

from tests.chainer.subject import F, Scale, chainer, f32, var


@pytest.mark.semantics("C04")
@pytest.mark.parametrize("double", [False, True])
def test_a_leaf_accumulates(double):
    x = var([1, 2])
    x.grad = f32([100, 200])
    y = x * 3
    y.grad = f32([1, 1])
    y.backward(enable_double_backprop=double)
    np.testing.assert_array_equal(x.grad, [103, 203])
    y.grad = f32([1, 1])
    y.backward(enable_double_backprop=double)  # backward does not free the graph
    np.testing.assert_array_equal(x.grad, [106, 206])


@pytest.mark.semantics("C04")
def test_accumulation_does_not_write_into_an_old_array():
    x = var([1, 2])
    old = x.grad = f32([100, 200])
    y = x * 3
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(old, [100, 200])
    g = x.grad
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(g, [103, 203])


@pytest.mark.semantics("C04")
@pytest.mark.parametrize("python", [False, True])
def test_an_old_gradient_of_an_intermediate_is_ignored(python):
    x = var([1, 2])
    h = Scale(2).apply((x,))[0] if python else x * 2
    y = h * 3
    h.grad = f32([1000, 1000])
    kept = h.grad_var
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(x.grad, [6, 6])
    assert h.grad_var is kept and y.grad is None


class Two(chainer.FunctionNode):
    """2 x and 3 x."""

    def forward(self, inputs):
        return inputs[0] * 2, inputs[0] * 3

    def backward(self, indexes, gys):
        return (sum(k * g for k, g in zip((2, 3), gys, strict=True) if g is not None),)


class OldTwo(chainer.Function):
    """The same as an old-style Function."""

    def forward(self, inputs):
        return inputs[0] * 2, inputs[0] * 3

    def backward(self, inputs, gys):
        return (sum(k * g for k, g in zip((2, 3), gys, strict=True) if g is not None),)


@pytest.mark.semantics("C04")
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: F.split_axis(F.concat([x, x], 0), 2, 0), [6, 6]),
        (lambda x: Two().apply((x,)), [17, 17]),
        (lambda x: OldTwo()(x), [17, 17]),
    ],
)
def test_a_gradient_given_to_another_output_of_the_function_takes_part(function, expected, double):
    x = var([1, 2])
    y, z = function(x)
    y.grad, z.grad = f32([1, 1]), f32([5, 5])
    y.backward(enable_double_backprop=double)
    np.testing.assert_array_equal(x.grad, expected)
    assert z.grad is None  # backward has consumed and freed it


@pytest.mark.semantics("C04")
def test_a_given_gradient_does_not_count_where_the_pass_arrives():
    x = var([1, 2])
    y, z = Two().apply((x,))
    z.grad = f32([5, 5])
    kept = z.grad_var
    loss = y + z
    loss.grad = f32([1, 1])
    loss.backward()
    np.testing.assert_array_equal(x.grad, [5, 5])
    assert z.grad_var is kept


@pytest.mark.semantics("C04")
def test_given_gradients_under_a_deeper_loss_and_with_retain_grad():
    x = var([1, 2])
    y, z = Two().apply((x,))
    z.grad = f32([5, 5])
    loss = F.sum(y)
    loss.backward(retain_grad=True)
    np.testing.assert_array_equal(x.grad, [17, 17])
    np.testing.assert_array_equal(z.grad, [5, 5])
    x.cleargrad()
    z.grad = f32([1, 1])
    chainer.backward([y], [var([1, 1])])
    np.testing.assert_array_equal(x.grad, [5, 5])
    z.grad = f32([1, 1])
    (gx,) = chainer.grad([y], [x], [var([1, 1])])  # chainer.grad uses the gradients of its outputs only
    np.testing.assert_array_equal(gx.array, [2, 2])
    np.testing.assert_array_equal(z.grad, [1, 1])


@pytest.mark.semantics("C04")
def test_a_gradient_that_is_passed_on_is_the_same_array():
    x = var([1, 2])
    y = F.identity(x)
    y.grad = given = f32([1, 1])
    y.backward()
    assert x.grad is given

    class Keep(chainer.Function):
        def forward(self, inputs):
            return (inputs[0] * 1,)

        def backward(self, inputs, gys):
            gys[0][0] = 7
            return (gys[0],)

    x = var([1, 2])
    y = Keep()(x)
    y.grad = given = f32([1, 1])
    y.backward()
    assert x.grad is given and given[0] == 7


@pytest.mark.semantics("C04")
def test_retain_grad():
    x = var([1, 2])
    h = x * 2
    i = h + 1
    y = i * 3
    h.grad = f32([1000, 1000])
    y.grad = f32([1, 1])
    gy = y.grad_var
    y.backward(retain_grad=True)
    np.testing.assert_array_equal(h.grad, [3, 3])
    np.testing.assert_array_equal(i.grad, [3, 3])
    assert y.grad_var is gy


@pytest.mark.semantics("C04")
def test_gradients_of_intermediates_are_dropped():
    x = var([1, 2])
    h = x * 2
    y = h * 3
    y.grad = f32([1, 1])
    y.backward()
    assert h.grad is None and y.grad is None


class Pass(chainer.Function):
    def forward(self, inputs):
        self.retain_inputs(())
        return (inputs[0].copy(),)

    def backward(self, inputs, grad_outputs):
        return (grad_outputs[0].copy(),)


@pytest.mark.semantics("C05")
def test_peak_does_not_grow_with_depth():
    size = 250_000  # elements, 1 MB

    def peak(depth):
        x = chainer.Variable(np.zeros(size, np.float32))
        y = x
        for _ in range(depth):
            y = Pass()(y)
        y.grad = np.ones(size, np.float32)
        tracemalloc.start()
        try:
            y.backward()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)
    shallow, deep = peak(5), peak(60)
    assert deep < shallow + 2 * 4 * size
    assert deep < 6 * 4 * size
