"""Distributions: recorded results of Chainer (samples must be bitwise equal), derivatives by finite differences,
errors."""

import functools
import math

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import distributions as D
from compatgrad.chainer import gradient_check
from tests.golden import distributions as golden

RECORD = np.load(golden.GOLDEN)


@pytest.mark.parametrize("case", golden.CASES)
@pytest.mark.filterwarnings("ignore:.*undefined")
def test_results_of_chainer(case):
    found = golden.compute(chainer, case)
    recorded = {key.partition("/")[2]: RECORD[key] for key in RECORD.files if key.startswith(f"{case}/")}
    assert recorded.keys() <= found.keys()
    assert found["sample"].dtype == recorded["sample"].dtype
    for key, want in recorded.items():
        np.testing.assert_allclose(found[key], want, rtol=2e-5, atol=2e-6, err_msg=key)


def cases_with_derivatives():
    return [case for case in golden.CASES if case not in ("Uniform", "Uniform loc")]


@pytest.mark.parametrize("case", cases_with_derivatives())
@pytest.mark.parametrize("what", ["log_prob", "entropy", "kl", "sample"])
def test_derivatives(case, what):
    name, make = golden.CASES[case]
    cls = getattr(D, name)
    np.random.seed(3)
    parameters, others = make(), make()
    if name == "Pareto":
        others["scale"] /= 10  # otherwise the divergence is infinite
    keys, values = zip(*((k, v.astype("d")) for k, v in parameters.items()), strict=True)
    if name.endswith("Categorical"):
        values = tuple(v / v.sum(-1, keepdims=True) if k == "p" else v for k, v in zip(keys, values, strict=True))
    dist = cls(**dict(zip(keys, values, strict=True)))
    other = cls(**{k: v.astype("d") for k, v in others.items()})
    x = dist.sample(2).array
    if what == "sample" and name in ("Bernoulli", "Beta", "Categorical", "Chisquare", "Dirichlet", "Geometric",
                                     "OneHotCategorical", "Pareto", "Poisson", "Gamma"):  # fmt: skip
        pytest.skip("its samples are not differentiable with respect to the parameters")
    if what == "kl" and name in golden.NO_DIVERGENCE:
        pytest.skip("no divergence is registered")
    if what == "entropy" and name in ("Geometric", "OneHotCategorical", "Poisson"):
        with pytest.raises(NotImplementedError, match=rf"{name}\.entropy"):
            _ = dist.entropy
        return

    def function(*arrays):
        d = cls(**dict(zip(keys, arrays, strict=True)))
        if what == "log_prob":
            return d.log_prob(x)
        if what == "kl":
            return chainer.kl_divergence(d, other)
        if what == "entropy":
            return d.entropy
        np.random.seed(4)
        return d.sample((2,))

    if what == "entropy" and keys[0] == "loc":  # the entropy does not depend on loc
        loc, *values = values
        function = functools.partial(function, loc)
    y = function(*map(chainer.Variable, values))
    gy = np.random.uniform(-1, 1, y.shape)
    ggs = [np.random.uniform(-1, 1, v.shape) for v in values]
    options = {"atol": 1e-5, "rtol": 1e-5, "eps": 1e-5}
    gradient_check.check_backward(function, values, gy, **options)
    gradient_check.check_double_backward(function, values, gy, ggs, **options)


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_dtypes_and_shapes(dtype, shape):
    d = D.Normal(np.zeros(shape, dtype), np.ones(shape, dtype))
    for sample_shape in ((), 2, (2, 1)):
        x = d.sample(sample_shape)
        lead = (sample_shape,) if isinstance(sample_shape, int) else sample_shape
        assert x.shape == lead + shape and x.dtype == dtype
        assert d.log_prob(x).dtype == dtype and d.prob(x.array).shape == x.shape
    assert d.batch_shape == shape and d.event_shape == () and d.xp is np


def test_samples_of_whole_numbers_have_probabilities_with_a_gradient():
    p = chainer.Variable(np.float32([0.25, 0.75]))
    d = D.Bernoulli(p)
    x = d.sample(3)
    assert x.dtype.kind == "i"
    np.testing.assert_allclose(d.prob(x).array, np.exp(d.log_prob(x).array), rtol=1e-6)
    F.sum(d.log_prob(x)).backward()
    np.testing.assert_allclose(p.grad, ((x.array - p.array) / (p.array * (1 - p.array))).sum(0), rtol=1e-5)


def test_bernoulli_checks_for_other_values():
    x = np.float32([0, 0.5, 1])
    logit = chainer.Variable(np.float32([1, 1, 1]))
    d = D.Bernoulli(logit=logit, binary_check=True)
    assert d.log_prob(x).array[1] == -np.inf and d.prob(x).array[1] == 0
    F.sum(d.log_prob(x)[::2]).backward()
    assert np.isnan(logit.grad[1]) and np.isfinite(logit.grad[::2]).all()
    sure = D.Bernoulli(logit=np.float32([np.inf, -np.inf, np.inf]))
    assert sure.log_prob(np.float32([1, 0, 0])).array.tolist() == [0, 0, -np.inf]


def test_outside_of_the_support():
    one = np.ones(1, "f")
    for d, x in ((D.Uniform(low=one, high=2 * one), 3 * one), (D.Exponential(one), -one), (D.Gamma(one, one), -one),
                 (D.Beta(one, one), 2 * one), (D.Pareto(2 * one, one), one)):  # fmt: skip
        with np.errstate(invalid="ignore"):
            assert d.log_prob(x).array == -np.inf and d.prob(x).array == 0
    assert D.Pareto(one, one).mean.array == np.inf and D.Pareto(one, 2 * one).variance.array == np.inf
    wide, narrow = D.Uniform(low=-one, high=one), D.Uniform(low=0 * one, high=one)
    assert chainer.kl_divergence(wide, narrow).array == np.inf
    assert chainer.kl_divergence(narrow, wide).array == pytest.approx(math.log(2))


def test_entropy_of_certain_events():
    p = chainer.Variable(np.float32([0, 1, 0.5]))
    entropy = D.Bernoulli(p).entropy
    np.testing.assert_allclose(entropy.array, [0, 0, math.log(2)], rtol=1e-6)
    with pytest.warns(RuntimeWarning, match="zero input"):
        F.sum(entropy).backward()


def test_multivariate_normal_has_batches_and_samples_of_any_shape():
    rng = np.random.RandomState(0)
    loc, tril = rng.randn(2, 3), rng.randn(2, 3, 3) + 3 * np.eye(3)  # entries above the diagonal are ignored
    d, low = D.MultivariateNormal(loc, scale_tril=tril), np.tril(tril)
    np.testing.assert_allclose(d.covariance.array, low @ low.swapaxes(1, 2))
    np.testing.assert_allclose(d.variance.array, (low**2).sum(-1))
    x = d.sample((4, 5)).array
    z = np.linalg.solve(low, (x - loc)[..., None])[..., 0]
    want = -0.5 * (z**2).sum(-1) - np.log(np.abs(np.einsum("bii->bi", low))).sum(-1) - 1.5 * math.log(2 * math.pi)
    np.testing.assert_allclose(d.log_prob(x).array, want)
    np.testing.assert_allclose(d.log_prob(x[0, 0]).array, want[0, 0])


def test_independent():
    rng = np.random.RandomState(0)
    normal = D.Normal(rng.randn(2, 3, 4), np.exp(rng.randn(2, 3, 4)))
    d = D.Independent(normal, 1)
    assert d.batch_shape == (2, 3) and d.event_shape == (4,) and D.Independent(normal).event_shape == (3, 4)
    x = d.sample((5,))
    np.testing.assert_allclose(d.log_prob(x).array, normal.log_prob(x).array.sum(-1))
    np.testing.assert_allclose(d.cdf(x).array, normal.cdf(x).array.prod(-1))
    np.testing.assert_allclose(d.entropy.array, normal.entropy.array.sum(-1))
    other = D.Independent(D.Normal(np.zeros((2, 3, 4)), np.ones((2, 3, 4))), 1)
    kl = chainer.kl_divergence(d, other)
    np.testing.assert_allclose(kl.array, chainer.kl_divergence(normal, other.distribution).array.sum(-1))
    tril = np.tril(rng.randn(2, 3, 4, 4))
    several = D.Independent(D.MultivariateNormal(rng.randn(2, 3, 4), scale_tril=tril), 1)
    covariance = several.covariance.array
    assert covariance.shape == (2, 12, 12)
    np.testing.assert_allclose(covariance[1, 4:8, 4:8], tril[1, 1] @ tril[1, 1].T)
    assert not covariance[0, :4, 4:].any()
    with pytest.raises(ValueError, match=r"reinterpreted_batch_ndims .*4 > 3"):
        D.Independent(normal, 4)
    with pytest.raises(NotImplementedError, match="not invertible"):
        d.icdf(x)
    with pytest.raises(ValueError, match="Event shapes"):
        chainer.kl_divergence(d, D.Independent(normal, 2))


def test_custom_divergences():
    class Mine(chainer.Distribution):
        entropy = 2.0

    with pytest.raises(NotImplementedError, match=r"kl_divergence: none is registered of Mine and Normal"):
        chainer.kl_divergence(Mine(), D.Normal(np.zeros(1, "f"), np.ones(1, "f")))
    with pytest.raises(KeyError):
        chainer.kl_divergence(Mine(), Mine())

    @chainer.register_kl(Mine, Mine)
    def kl(dist1, dist2):
        return 1.0

    assert kl(Mine(), Mine()) == chainer.kl_divergence(Mine(), Mine()) == 1.0
    assert chainer.cross_entropy(Mine(), Mine()) == 3.0
    p, q = D.Normal(np.zeros(1), np.ones(1)), D.Normal(np.ones(1), 2 * np.ones(1))
    x = p.sample(200000).array
    np.testing.assert_allclose(chainer.cross_entropy(p, q).array, -q.log_prob(x).array.mean(), rtol=1e-2)


def test_errors():
    zeros = np.zeros(2, "f")
    for make in (
        lambda: D.Normal(zeros),
        lambda: D.Normal(zeros, zeros, log_scale=zeros),
        lambda: D.Bernoulli(),
        lambda: D.Categorical(zeros, logit=zeros),
        lambda: D.Uniform(low=zeros),
        lambda: D.MultivariateNormal(zeros),
    ):
        with pytest.raises(ValueError, match="must have a value"):
            make()
    with pytest.raises(ValueError, match=r"p: expected probabilities whose sum is 1, got 0\.0"):
        D.Categorical(zeros).sample()
    with pytest.raises(NotImplementedError, match=r"Categorical\.mean is not defined"):
        _ = D.Categorical(zeros).mean
    with pytest.raises(NotImplementedError, match=r"Beta\.cdf"):
        D.Beta(zeros, zeros).cdf(zeros)
    with pytest.warns(RuntimeWarning, match="Mean of the cauchy"):
        assert np.isnan(D.Cauchy(zeros, zeros + 1).mean.array).all()


def test_properties_are_computed_again_if_a_graph_is_needed():
    scale = chainer.Variable(np.float32([2]))
    d = D.Normal(np.zeros(1, "f"), scale)
    with chainer.no_backprop_mode():
        assert d.variance.creator is None
    F.sum(d.variance).backward()
    assert scale.grad == 4
