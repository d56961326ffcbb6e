"""Variants of the examples in the documentation of mxnet.autograd give the documented results."""

import math

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, gluon, nd


@pytest.mark.semantics("M04")
@pytest.mark.semantics("M05")
def test_example_of_grad():
    x = nd.ones((1,))
    x.attach_grad()
    with autograd.record():
        z = nd.elemwise_add(nd.exp(x), x)
    # grad() returns a list, though the documentation calls backward on the result
    (dx,) = autograd.grad(z, [x], create_graph=True)
    assert dx.asscalar() == pytest.approx(math.e + 1)
    assert x.grad.asscalar() == 0
    dx.backward()
    assert x.grad.asscalar() == pytest.approx(math.e)


class Sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


@pytest.mark.semantics("M06")
def test_example_of_function():
    function = Sigmoid()
    x = nd.random.uniform(shape=(10,))
    x.attach_grad()
    with autograd.record():
        m = function(x)
    m.backward()
    y = 1 / (1 + np.exp(-x.asnumpy()))
    np.testing.assert_allclose(m.asnumpy(), y, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), y * (1 - y), rtol=1e-5)
    with pytest.raises(AssertionError, match="only be called once"):
        function(x)


@pytest.mark.semantics("M01")
def test_example_of_record_and_pause():
    """Gradients come from the operations in record(); those in pause() are not recorded."""
    mx.random.seed(0)
    model = gluon.nn.Dense(1, in_units=3)
    model.initialize()
    x = nd.random.uniform(shape=(4, 3))
    with autograd.record():
        assert autograd.is_recording() and autograd.is_training()
        y = model(x)
        with autograd.pause():
            assert not autograd.is_recording() and not autograd.is_training()
            untouched = y * 2
        with autograd.predict_mode():
            assert autograd.is_recording() and not autograd.is_training()
    autograd.backward([y])
    np.testing.assert_allclose(model.weight.grad().asnumpy(), x.asnumpy().sum(axis=0, keepdims=True), rtol=1e-6)
    with pytest.raises(mx.MXNetError):
        untouched.backward()


@pytest.mark.semantics("M01")
def test_example_of_modes():
    """Dropout drops elements in train_mode() without record(), and none in predict_mode() inside record()."""
    dropout = gluon.nn.Dropout(0.5)
    x = nd.ones((1000,))
    with autograd.train_mode():
        assert set(dropout(x).asnumpy()) == {0, 2}
    assert dropout(x).asnumpy().min() == 1
    with autograd.record(), autograd.predict_mode():
        assert dropout(x).asnumpy().min() == 1
