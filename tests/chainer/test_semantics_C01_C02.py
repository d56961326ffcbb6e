"""chainer.backward: its arguments, and the initial gradients."""

import warnings

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32, var


def _graph():
    x = var([1, 2])
    return x, x * 3


@pytest.mark.semantics("C01")
@pytest.mark.parametrize("outputs", [None, 1, "y", {}, "variable"])
def test_outputs_must_be_a_sequence(outputs):
    _, y = _graph()
    with pytest.raises(TypeError, match="outputs must be a tuple or a list"):
        chainer.backward(y if outputs == "variable" else outputs)


@pytest.mark.semantics("C01")
@pytest.mark.parametrize("element", [None, 1, f32([1, 2])])
def test_each_output_must_be_a_variable(element):
    _, y = _graph()
    with pytest.raises(TypeError, match="each output must be a Variable"):
        chainer.backward([y, element])


@pytest.mark.semantics("C01")
@pytest.mark.parametrize("grad_outputs", ["gy", 1, f32([1, 2])])
def test_grad_outputs_must_be_a_sequence(grad_outputs):
    _, y = _graph()
    with pytest.raises(TypeError, match="grad_outputs must be"):
        chainer.backward([y], grad_outputs)
    with pytest.raises(TypeError, match="grad_outputs must be"):
        chainer.backward([y], y)


@pytest.mark.semantics("C01")
@pytest.mark.parametrize("n_outputs, n_grads", [(1, 0), (1, 2), (0, 1), (2, 1)])
def test_lengths_must_agree(n_outputs, n_grads):
    _, y = _graph()
    with pytest.raises(ValueError) as e:
        chainer.backward([y] * n_outputs, [var([1, 1])] * n_grads)
    assert f"len(outputs) = {n_outputs}" in str(e.value)
    assert f"len(grad_outputs) = {n_grads}" in str(e.value)


@pytest.mark.semantics("C01")
@pytest.mark.parametrize("keyword", ["retain_grad", "loss_scale"])
def test_refused_options_say_why(keyword):
    _, y = _graph()
    y.grad = f32([1, 1])
    with pytest.raises(ValueError, match=keyword):
        chainer.backward([y], **{keyword: True})
    np.testing.assert_array_equal(y.grad, [1, 1])


@pytest.mark.semantics("C01")
def test_unknown_keyword_and_positional_option():
    _, y = _graph()
    with pytest.raises(TypeError, match="volatile"):
        chainer.backward([y], volatile=True)
    with pytest.raises(TypeError):
        chainer.backward([y], None, True)


@pytest.mark.semantics("C01")
@pytest.mark.parametrize("sequence", [tuple, list])
def test_tuple_and_list(sequence):
    x, y = _graph()
    chainer.backward(sequence([y]), sequence([var([1, 10])]))
    np.testing.assert_array_equal(x.grad, [3, 30])
    chainer.backward(sequence([]))
    chainer.backward(sequence([]), sequence([]))


@pytest.mark.semantics("C02")
def test_own_gradient_is_used_and_cleared():
    x, y = _graph()
    z = y * 2
    y.grad, z.grad = f32([1, 1]), f32([10, 10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chainer.backward([y, z])
    np.testing.assert_array_equal(x.grad, [63, 63])
    assert y.grad is None and z.grad is None


@pytest.mark.semantics("C02")
def test_no_default_gradient():
    x, _ = _graph()
    y = chainer.Variable(f32(2)) * 3  # one element: Variable.backward would start from ones
    with pytest.warns(RuntimeWarning):
        chainer.backward([y])
    assert y.grad is None
    z = x * 5
    z.grad = f32([1, 2])
    with pytest.warns(RuntimeWarning):
        chainer.backward([y, z])  # y has no gradient, z has one
    np.testing.assert_array_equal(x.grad, [5, 10])


@pytest.mark.semantics("C02")
def test_the_same_variable_twice():
    x, y = _graph()
    y.grad = f32([1, 1])
    with pytest.warns(RuntimeWarning):
        chainer.backward([y, y])
    np.testing.assert_array_equal(x.grad, [3, 3])
    x.cleargrad()
    chainer.backward([y, y], [var([1, 1]), var([1, 1])])  # given gradients are summed
    np.testing.assert_array_equal(x.grad, [6, 6])


@pytest.mark.semantics("C02")
def test_given_gradients_leave_own_ones_and_none_starts_nothing():
    x, y = _graph()
    z = y * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chainer.backward([y, z], [None, var([1, 1])])
    np.testing.assert_array_equal(x.grad, [6, 6])
    assert y.grad is None


@pytest.mark.semantics("C02")
def test_an_output_that_is_a_leaf():
    x = var([1, 2])
    chainer.backward([x], [var([3, 4])])
    np.testing.assert_array_equal(x.grad, [3, 4])
