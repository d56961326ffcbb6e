"""loss_scale, and the initial gradient of backward."""

import warnings

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32, var


@pytest.mark.semantics("C11")
def test_loss_scale_multiplies_the_initial_gradient_and_is_remembered_on_leaves():
    x = var([1, 2])
    h = x * 3
    with chainer.using_config("dtype", np.float32):
        y = chainer.functions.sum(h)
    y.backward(loss_scale=8.0)
    np.testing.assert_array_equal(x.grad, [24, 24])
    assert x._loss_scale == 8.0
    assert h._loss_scale is None
    x.cleargrad()
    y.backward()
    np.testing.assert_array_equal(x.grad, [3, 3])
    assert x._loss_scale is None


@pytest.mark.semantics("C11")
def test_loss_scale_does_not_touch_a_given_gradient():
    x = var([1, 2])
    y = x * 3
    y.grad = f32([1, 10])
    y.backward(loss_scale=8.0)
    np.testing.assert_array_equal(x.grad, [3, 30])
    assert x._loss_scale == 8.0


@pytest.mark.semantics("C11")
def test_loss_scale_in_grad():
    x = var([1, 2])
    y = x * 3
    (g,) = chainer.grad([y], [x], loss_scale=4.0)
    np.testing.assert_array_equal(g.array, [12, 12])
    (g,) = chainer.grad([y], [x], [var([1, 1])], loss_scale=4.0)
    np.testing.assert_array_equal(g.array, [3, 3])


@pytest.mark.semantics("C11")
def test_an_optimizer_divides_by_it():
    class Model(chainer.Link):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.w = chainer.Parameter(f32([1, 2]))

    model = Model()
    optimizer = chainer.optimizers.SGD(lr=1.0).setup(model)
    model.cleargrads()
    chainer.functions.sum(model.w * 3).backward(loss_scale=16.0)
    optimizer.update()
    np.testing.assert_allclose(model.w.array, [-2, -1])


@pytest.mark.semantics("C12")
def test_a_scalar_starts_from_one_without_warning():
    x = var(3.0)
    y = x * x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()
    assert x.grad == 6
    assert x.grad.dtype == np.float32 and x.grad.shape == ()
    assert y.grad is None


@pytest.mark.semantics("C12")
@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_one_element_with_dimensions_warns(shape):
    x = chainer.Variable(np.full(shape, 3, np.float32))
    y = x * x
    with pytest.warns(DeprecationWarning):
        y.backward()
    np.testing.assert_array_equal(x.grad, np.full(shape, 6))


@pytest.mark.semantics("C12")
def test_a_given_gradient_wins():
    x = var([3.0])
    y = x * x
    y.grad = f32([10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()
    np.testing.assert_array_equal(x.grad, [60])


@pytest.mark.semantics("C12")
def test_several_elements_without_gradient():
    class Note(chainer.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, grad_outputs):
            self.got = grad_outputs
            return (None,)

    x = var([1, 2])
    f = Note()
    (y,) = f.apply((x,))
    y.backward()  # the function's backward is called with the gradient None
    assert f.got == (None,) and x.grad is None
    with pytest.raises((AttributeError, TypeError)):
        (x * x).backward()


@pytest.mark.semantics("C12")
def test_a_leaf():
    x = var(3.0)
    x.backward()
    assert x.grad == 1
    x.backward()  # starts from the gradient that x has
    assert x.grad == 1
