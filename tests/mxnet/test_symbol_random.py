"""Symbols of `mx.sym.np.random` and `mx.sym.npx.random`: parameters are numbers or symbols, files are like MXNet's."""

import json

import numpy as onp
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import np, npx


@pytest.fixture(autouse=True)
def numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


def symbols():
    return mx.sym.var("m").as_np_ndarray(), mx.sym.var("c").as_np_ndarray()


# a call with symbols m and c, the parameters in MXNet 1.9.1's file of it, the shape of its result
CASES = {
    "normal": (lambda R, X, m, c: R.normal(m, c), {"loc": "None", "scale": "None"}, (3,)),
    "normal-number": (lambda R, X, m, c: R.normal(0, c, size=(2, 3)), {"loc": "0", "scale": "None"}, (2, 3)),
    "normal-numbers": (lambda R, X, m, c: R.normal(size=(2,)), {"loc": "0.0", "scale": "1.0"}, (2,)),
    "uniform": (lambda R, X, m, c: R.uniform(0, c), {"low": "0", "high": "None"}, (3,)),
    "gamma": (lambda R, X, m, c: R.gamma(m, c), {"shape": "None", "scale": "None"}, (3,)),
    "exponential": (lambda R, X, m, c: R.exponential(c), {"scale": "None"}, (3,)),
    "gumbel": (lambda R, X, m, c: R.gumbel(m, c), {"loc": "None", "scale": "None"}, (3,)),
    "logistic": (lambda R, X, m, c: R.logistic(0, c), {"loc": "0", "scale": "None"}, (3,)),
    "rayleigh": (lambda R, X, m, c: R.rayleigh(c), {"scale": "None"}, (3,)),
    "weibull": (lambda R, X, m, c: R.weibull(c), {"a": "None"}, (3,)),
    "choice": (lambda R, X, m, c: R.choice(5, p=m, size=(2,)), {"a": "5", "weighted": "True"}, (2,)),
    "bernoulli": (lambda R, X, m, c: X.bernoulli(prob=m), {"prob": "None", "logit": "None", "is_logit": "False"}, (3,)),
    "bernoulli-logit": (lambda R, X, m, c: X.bernoulli(logit=m, size=(2, 3)), {"is_logit": "True"}, (2, 3)),
    "uniform_n": (lambda R, X, m, c: X.uniform_n(0, m, batch_shape=(4,)), {"low": "0", "size": "(4,)"}, (4, 3)),
    "normal_n": (lambda R, X, m, c: X.normal_n(m, 1.0, batch_shape=(4,)), {"loc": "None", "scale": "1.0"}, (4, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_parameters_are_numbers_or_symbols(name):
    make, attributes, shape = CASES[name]
    s = make(mx.sym.np.random, mx.sym.npx.random, *symbols())
    node = json.loads(s.tojson())["nodes"][-1]
    assert {k: node["attrs"][k] for k in attributes} == attributes
    given = {"m": np.array([0.2, 0.5, 0.3]), "c": np.array([1.0, 2.0, 3.0])}
    given = {k: given[k] for k in s.list_arguments()}
    assert s.infer_shape(**{k: v.shape for k, v in given.items()})[1] == [shape]
    drawn = [t.bind(mx.cpu(), given).forward()[0].asnumpy() for t in (s, mx.sym.load_json(s.tojson()))]
    for y in drawn:
        assert y.shape == shape and onp.isfinite(y).all()


def test_draws_follow_the_parameters_symbols():
    m, c = symbols()
    s = mx.sym.np.random.normal(m, c, size=(20000, 2))
    y = s.bind(mx.cpu(), {"m": np.array([-3.0, 5.0]), "c": np.array([0.1, 2.0])}).forward()[0].asnumpy()
    onp.testing.assert_allclose(y.mean(0), [-3, 5], atol=0.1)
    onp.testing.assert_allclose(y.std(0), [0.1, 2], rtol=0.05)
    s = mx.sym.npx.random.bernoulli(logit=m, size=(20000, 2))
    y = s.bind(mx.cpu(), {"m": np.array([-1.0, 2.0])}).forward()[0].asnumpy()
    onp.testing.assert_allclose(y.mean(0), 1 / (1 + onp.exp([1.0, -2.0])), atol=0.02)


def test_multivariate_normal():
    m, c = symbols()
    s = mx.sym.np.random.multivariate_normal(m, c, size=(20000,))
    # MXNet writes this node
    assert json.loads(s.tojson())["nodes"][-1]["attrs"] == {"op_type": "mvn_fallback", "size": "(20000,)"}
    assert s.infer_shape(m=(2,), c=(2, 2))[1] == [(20000, 2)]
    cov = onp.float32([[2, 0.6], [0.6, 0.5]])
    given = {"m": np.array([1.0, -2.0]), "c": np.array(cov)}
    y = mx.sym.load_json(s.tojson()).bind(mx.cpu(), given).forward()[0].asnumpy()
    onp.testing.assert_allclose(y.mean(0), [1, -2], atol=0.05)
    onp.testing.assert_allclose(onp.cov(y.T), cov, atol=0.1)
    one = mx.sym.np.random.multivariate_normal(m, c)
    assert one.infer_shape(m=(2,), c=(2, 2))[1] == [(2,)]


def test_bernoulli_takes_prob_or_logit():
    m, c = symbols()
    for given in ({}, {"prob": m, "logit": c}):
        with pytest.raises(ValueError, match="either prob or logit"):
            mx.sym.npx.random.bernoulli(**given)


def test_asking_for_shapes_draws_nothing():
    cases = [mx.sym.np.random.normal(0, 1, size=(3,)), mx.sym.random.normal(shape=(3,)), mx.sym.npx.random.normal_n()]
    for s in cases:
        drawn = []
        for ask in (False, True):
            mx.random.seed(3)
            if ask:
                s.infer_shape()
            drawn.append(s.bind(mx.cpu(), {}).forward()[0].asnumpy())
        onp.testing.assert_array_equal(*drawn)


def test_asking_for_shapes_leaves_no_error_behind():
    m, c = symbols()
    assert mx.sym.np.random.normal(m, c).infer_shape(m=(2,), c=(2,))[1] == [(2,)]
    assert np.ones(1).asnumpy() == 1  # raises the error of a draw, if infer_shape ran one
