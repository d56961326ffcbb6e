"""What a program meets at its first calls of `interop.compile`: parameters that were not passed, and errors."""

import warnings

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad import interop
from compatgrad.mxnet.gluon import nn

X = np.random.RandomState(0).rand(8, 4).astype("f")
T = np.zeros(8, "i")


def classifier():
    np.random.seed(0)
    return L.Classifier(L.Linear(4, 3))


def gradients_of(model, after=lambda: None):
    def gradients(x, t):
        model.cleargrads()
        loss = model(x, t)
        loss.backward()
        after()
        return loss

    return gradients


def test_a_parameter_that_was_not_passed_is_named():
    model = classifier()

    def loss(x, t):
        return F.softmax_cross_entropy(model.predictor(x), t)

    with pytest.warns(UserWarning, match=r"loss reads [Wb] of shape .* not among the parameters.*parameters="):
        interop.compile(loss, backend="eager")(X, T)


def test_no_warning_where_all_parameters_are_known():
    model = classifier()
    held = chainer.Variable(X[:1])  # a Variable that the function does not read

    def loss(x, t):
        return F.softmax_cross_entropy(model.predictor(x), t) if held is not None else None

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        interop.compile(loss, parameters=model, backend="eager")(X, T)
        interop.compile(model.predictor, backend="eager")(X)
        interop.compile(model.predictor.forward, backend="eager")(X)


def test_an_error_in_a_link_names_the_link():
    model = classifier()
    with pytest.raises(interop.ExportError, match=r"a value is read.*chainer\.links\.model\.classifier\.forward"):
        interop.compile(gradients_of(model), parameters=model)(X, T)
    model.compute_accuracy = False
    interop.compile(gradients_of(model), parameters=model)(X, T)


def test_parameters_of_a_block_are_passed_as_the_block():
    with pytest.raises(TypeError, match="got ParameterDict; pass the block itself"):
        interop.compile(lambda x: x, parameters=nn.Dense(2).collect_params())


def test_an_update_in_a_step_of_few_numbers():
    models, losses = [classifier(), classifier()], []
    for compiles, model in enumerate(models):
        model.compute_accuracy = False
        step = gradients_of(model, chainer.optimizers.SGD(0.5).setup(model).update)
        step = interop.compile(step, parameters=model) if compiles else step
        losses.append([float(step(X, T).array) for _ in range(3)])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    np.testing.assert_allclose(*[m.predictor.W.array for m in models], rtol=1e-5)
