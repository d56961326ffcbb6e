"""Random numbers: their distributions, shapes and types, seeds, and wrong parameters."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet.base import MXNetError

R = nd.random
N = 20000

# the call, mean and variance
DISTRIBUTIONS = [
    (lambda **k: R.uniform(-1, 3, **k), 1, 16 / 12),
    (lambda **k: R.normal(2, 0.5, **k), 2, 0.25),
    (lambda **k: R.exponential(4, **k), 4, 16),
    (lambda **k: R.gamma(3, 2, **k), 6, 12),
    (lambda **k: R.poisson(4, **k), 4, 4),
    (lambda **k: R.negative_binomial(5, 0.4, **k), 7.5, 18.75),
    (lambda **k: R.generalized_negative_binomial(2, 0.3, **k), 2, 3.2),
    (lambda **k: R.generalized_negative_binomial(2, 0, **k), 2, 2),
    (lambda **k: R.randint(0, 10, **k), 4.5, 8.25),
]


@pytest.mark.parametrize(("draw", "mean", "variance"), DISTRIBUTIONS)
def test_moments(draw, mean, variance):
    mx.random.seed(5)
    x = draw(shape=(N,)).asnumpy().astype(np.float64)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / N)
    assert abs(x.var() - variance) < 0.12 * variance
    out = nd.zeros((2, 3), dtype="int32" if mean == 4.5 else "float64")
    assert draw(out=out) is out and out.asnumpy().any()


def test_parameters_as_arrays():
    mx.random.seed(1)
    low, high = nd.array([[0, 10]]), nd.array([[1, 20]])
    x = R.uniform(low, high, shape=(2, 2000))
    assert x.shape == (1, 2, 2, 2000)
    means = x.asnumpy().mean((2, 3))
    assert abs(means[0, 0] - 0.5) < 0.05 and abs(means[0, 1] - 15) < 0.3
    assert R.normal(low, high).shape == (1, 2)
    for name in ("uniform", "normal", "gamma", "negative_binomial", "generalized_negative_binomial"):
        assert getattr(nd, f"sample_{name}")(
            nd.array([1.0, 2.0]), nd.array([1.0, 1.0]) + (name == "uniform")
        ).shape == (2,)
    rates = nd.array([1.0, 50.0])
    assert nd.sample_poisson(rates, shape=(500,)).asnumpy().mean(1)[1] > 40
    assert R.exponential(rates, shape=500).asnumpy().mean(1)[1] > 25


def test_shapes_and_types():
    assert R.uniform().shape == (1,) and R.uniform(shape=3).shape == (3,) and R.randn(2, 3).shape == (2, 3)
    assert R.normal(shape=(2,)).dtype == np.float32 and R.normal(shape=(2,), dtype="float16").dtype == np.float16
    assert R.randint(0, 5, shape=(2,)).dtype == np.int32 and R.randint(0, 5, dtype="int64").dtype == np.int64
    assert R.uniform(ctx=mx.cpu(1)).context == mx.cpu(1)
    assert nd.uniform(shape=(4, 5)).shape == nd.random_normal(0, 1, shape=(4, 5)).shape == (4, 5)
    assert nd.random_uniform(-1, 1, (2,), "cpu(0)", "float64").dtype == np.float64
    x = nd.ones((2, 3), dtype="float64")
    for name in ("uniform", "normal", "exponential", "gamma", "poisson", "negative_binomial"):
        assert getattr(R, f"{name}_like")(x).shape == (2, 3)
    assert R.normal_like(x, loc=100).dtype == np.float64 and R.normal_like(x, loc=100).asnumpy().min() > 50
    assert mx.random.uniform(shape=(2,)).shape == (2,)


def test_seeds_repeat_everything():
    def run():
        with autograd.record():
            d = nd.Dropout(nd.ones((50,)), p=0.5)
        draws = [R.uniform(shape=5), R.normal(shape=5), R.randint(0, 1000, shape=5), R.shuffle(nd.arange(20)), d]
        draws += [R.gamma(2, 2, shape=5), R.poisson(9, shape=5), R.multinomial(nd.array([0.1] * 10), shape=9)]
        return [x.asnumpy().tolist() for x in draws] + [mx.np.random.gumbel(size=3).tolist()]

    for seed in (0, 7, -3, 2**40):
        mx.random.seed(seed)
        first = run()
        second = run()
        mx.random.seed(seed)
        assert run() == first != second
    mx.random.seed(7, ctx=mx.cpu())
    first = run()
    mx.random.seed(7, ctx=mx.cpu())
    assert run() == first
    with pytest.raises(ValueError, match="must be an integer"):
        mx.random.seed("a")
    with pytest.raises(ValueError, match="must be an integer"):
        mx.random.seed(1.5)


def test_multinomial():
    mx.random.seed(2)
    p = nd.array([[0, 0.25, 0.75], [1, 0, 0]])
    x = R.multinomial(p, shape=4000)
    assert x.shape == (2, 4000) and x.dtype == np.int32 and not x[1].asnumpy().any()
    counts = np.bincount(x[0].asnumpy(), minlength=3) / 4000
    np.testing.assert_allclose(counts, [0, 0.25, 0.75], atol=0.03)
    assert R.multinomial(p).shape == (2,) and R.multinomial(p[0]).shape == (1,)
    assert R.multinomial(p, dtype="float32").dtype == np.float32
    p.attach_grad()
    with autograd.record():
        drawn, logp = nd.sample_multinomial(p, shape=(3,), get_prob=True)
    assert drawn.shape == logp.shape == (2, 3)
    logp.backward()
    k = drawn.asnumpy()
    np.testing.assert_allclose(logp.asnumpy(), np.log(np.take_along_axis(p.asnumpy(), k, 1)), rtol=1e-6)
    expected = np.zeros((2, 3))
    for i in range(2):
        for j in k[i]:
            expected[i, j] += 1 / p.asnumpy()[i, j]
    np.testing.assert_allclose(p.grad.asnumpy(), expected, rtol=1e-5)


def test_shuffle():
    mx.random.seed(0)
    x = nd.arange(20).reshape((10, 2))
    y = R.shuffle(x).asnumpy()
    assert (y[:, 0] + 1 == y[:, 1]).all() and sorted(y[:, 0]) == list(range(0, 20, 2)) and (y != x.asnumpy()).any()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: R.uniform(2, 1), MXNetError, "random_uniform: low must not be greater than high"),
        (lambda: R.normal(0, -1), MXNetError, "random_normal: scale must be positive"),
        (lambda: R.poisson(-1), MXNetError, "lam must not be negative"),
        (lambda: R.gamma(-1), MXNetError, "alpha must be positive"),
        (lambda: R.gamma(1, -1), MXNetError, "beta must be positive"),
        (lambda: R.exponential(-1), MXNetError, "lam must be positive"),
        (lambda: R.exponential(0), ZeroDivisionError, "scale must be positive"),
        (lambda: R.negative_binomial(-1, 0.5), MXNetError, "k must not be negative"),
        (lambda: R.negative_binomial(1, 1.5), MXNetError, r"p must be in \(0, 1\]"),
        (lambda: R.randint(3, 3), MXNetError, "low must be less than high"),
        (lambda: R.randint(0.5, 3), MXNetError, "low must be an integer"),
        (lambda: R.randint(nd.ones((1,)), nd.ones((1,))), TypeError, "must be numbers"),
        (lambda: R.uniform(nd.ones((1,)), 2), AssertionError, "same type"),
        (lambda: R.uniform("a"), ValueError, "NDArray or numbers"),
        (lambda: R.uniform(dtype="int32"), MXNetError, "invalid dtype 'int32'"),
        (lambda: R.uniform(shape=(2,), out=nd.ones((3,))), MXNetError, "out has shape"),
        (lambda: R.uniform(nd.ones((2,)), nd.ones((3,)) * 2), MXNetError, "high has shape"),
        (lambda: nd.random_uniform(0, 1), MXNetError, "shape is needed"),
        (lambda: nd.random_uniform(0, 1, shape=2, foo=1), MXNetError, "unknown argument 'foo'"),
        (lambda: R.multinomial(nd.array([0.0, 0.0])), MXNetError, "must be probabilities"),
        (lambda: R.multinomial([0.5, 0.5]), AssertionError, "data must have NDArray type"),
        (lambda: nd.shuffle(3), AssertionError, "data must have NDArray type"),
    ],
)
def test_wrong_parameters(call, error, words):
    with pytest.raises(error, match=words):
        call()
        nd.waitall()
