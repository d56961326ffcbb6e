"""Gradients that programs pass to optimizers and hooks: other memory layouts, half precision, None."""

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32

O = chainer.optimizers  # noqa: E741
H = chainer.optimizer_hooks


def make(value, grad, optimizer=None):
    link = chainer.Link()
    with link.init_scope():
        link.p = chainer.Parameter(value)
    if grad is not None:
        link.p.grad = grad
    return link, (optimizer or O.SGD(1)).setup(link)


def touch_nothing(link):
    pass


def use_as_variable(link):
    link.p.grad_var * 1


def ask_for_the_tensor(link):
    getattr(link.p, "_grad_tensor", None)


@pytest.mark.parametrize("touch", [touch_nothing, use_as_variable, ask_for_the_tensor])
@pytest.mark.parametrize("alone", [False, True])  # alone: its own hyperparameter excludes it from the batched update
def test_a_reversed_gradient_is_read_as_it_is_at_the_update(touch, alone):
    grad = np.arange(4, dtype=np.float32)[::-1]
    link, optimizer = make(np.zeros(4, np.float32), grad)
    if alone:
        link.p.update_rule.hyperparam.lr = 1
    for k in range(3):
        touch(link)
        link.p.grad[...] = k + 1
        optimizer.update()
    assert link.p.grad is grad
    np.testing.assert_array_equal(link.p.array, f32([-6, -6, -6, -6]))


@pytest.mark.parametrize("shape", [(3,), ()])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gradient_lars(dtype, shape):
    link, optimizer = make(np.full(shape, 2, dtype), np.full(shape, 0.5, dtype))
    hook = H.GradientLARS(threshold=0.01, weight_decay=0.25)
    n = np.sqrt(np.prod(shape))
    hook(link.p.update_rule, link.p)
    np.testing.assert_allclose(link.p.grad, 1.0 * 2 * n / (0.5 * n + 0.25 * 2 * n), rtol=2e-3)
    # without decay, a gradient of zeros stays zero, although the ratio overflows in half precision
    link.p.grad[...] = 0
    hook.weight_decay = 0.0
    hook(link.p.update_rule, link.p)
    np.testing.assert_array_equal(link.p.grad, np.zeros(shape, dtype))


@pytest.mark.parametrize("hook", [H.GradientLARS(), H.WeightDecay(0.1), H.Lasso(0.1), H.GradientHardClipping(-1, 1)])
def test_hooks_pass_over_parameters_without_data(hook):
    link, optimizer = make(f32([1, 2]), f32([0.5, 0.5]))
    with link.init_scope():
        link.empty = chainer.Parameter()
    optimizer.setup(link)
    optimizer.add_hook(hook)
    if not hasattr(chainer.Parameter, "tensor"):
        link.cleargrads()  # otherwise the original raises an error
    optimizer.update()
    assert link.empty.array is None


@pytest.mark.parametrize("threshold", [0.1, 4.0, 11.5, 100.0])
def test_clipping_by_the_norm_of_gradients_in_any_layout(threshold):
    grads = [f32([2]), f32([3, 0, 9, 0])[::2], np.array([[1, 2], [3, 4]], np.float32).T]
    link = chainer.Link()
    with link.init_scope():
        for i, g in enumerate(grads):
            setattr(link, f"p{i}", chainer.Parameter(np.zeros(g.shape, np.float32)))
    for p, g in zip(link.params(), grads, strict=True):
        p.grad = g
    norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in grads))
    expected = [g * min(1, threshold / norm) for g in grads]
    H.GradientClipping(threshold)(O.SGD().setup(link))
    for p, e in zip(link.params(), expected, strict=True):
        np.testing.assert_allclose(p.grad, e, rtol=1e-6)


def test_clipping_without_a_norm_leaves_no_number():
    link, optimizer = make(f32([1, 2]), f32([np.nan, 1]))
    H.GradientClipping(1.0)(optimizer)
    assert np.isnan(link.p.grad).all()
