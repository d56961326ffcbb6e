"""Base class of the tests that compare a distribution with SciPy's."""

import functools
import unittest

import numpy as np

from compatgrad.chainer import utils
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.testing import array, attr
from compatgrad.chainer.variable import Variable

_N_SAMPLES = 100000


def skip_not_in_test_target(test_target):
    """Decorator: skip the test unless its class lists `test_target` in `test_targets`."""

    def decorator(method):
        @functools.wraps(method)
        def test(self, *args, **kwargs):
            if test_target not in self.test_targets:
                self.skipTest(f"'{test_target}' does not exist in test_targets.")
            method(self, *args, **kwargs)

        return test

    return decorator


class distribution_unittest(unittest.TestCase):
    """Tests of ``self.dist(**self.params)`` against ``self.scipy_dist`` with ``self.scipy_params``.

    A subclass defines `sample_for_test` and `setUp_configure`; the latter sets these four, `test_targets`
    (names of `_TARGETS`), and `support`, `event_shape`, `continuous`, `options` where the defaults do not
    fit. It has the attributes `shape`, `sample_shape` and `is_variable`.
    `scipy_onebyone`: SciPy's distribution takes one set of parameters at a time.
    """

    scipy_onebyone = False

    def setUp(self):
        self.support = "real"
        if not hasattr(self, "event_shape"):
            self.event_shape = ()
        self.continuous = True
        self.test_targets = set()
        self.options = {}
        self.setUp_configure()
        unknown = self.test_targets - set(_TARGETS)
        if unknown:
            raise ValueError(f"invalid target(s): {unknown}")
        if self.is_variable:
            self.params = {k: Variable(v) for k, v in self.params.items()}

    def scipy_onebyone_params_iter(self):
        """Parameters of each element of `shape`."""
        for index in np.ndindex(self.shape):
            yield {k: v[index] for k, v in self.scipy_params.items()}

    @property
    def cpu_dist(self):
        """The distribution on the CPU."""
        self.params.update(self.options)
        return self.dist(**self.params)

    @property
    def gpu_dist(self):
        """The distribution on the current GPU."""
        if self.is_variable:
            params = {k: Variable(cuda.to_gpu(v.data)) for k, v in self.params.items()}
        else:
            params = {k: cuda.to_gpu(v) for k, v in self.params.items()}
        params.update(self.options)
        return self.dist(**params)

    def _get_dist(self, is_gpu):
        return self.gpu_dist if is_gpu else self.cpu_dist

    def _scipy_each(self, name, **kwargs):
        """Call a method of SciPy's distribution for each element, and stack the results."""
        return np.vstack(
            [getattr(self.scipy_dist, name)(**params, **kwargs) for params in self.scipy_onebyone_params_iter()]
        )

    def _check_at_sample(self, is_gpu, method, scipy_name, sample):
        argument = cuda.to_gpu(sample) if is_gpu else sample
        actual = getattr(self._get_dist(is_gpu), method)(argument).data
        array.assert_allclose(actual, getattr(self.scipy_dist, scipy_name)(sample, **self.scipy_params))

    def _check_property(self, is_gpu, name, scipy_name, event_shape=None):
        actual = getattr(self._get_dist(is_gpu), name).data
        if event_shape is not None and self.scipy_onebyone:
            expected = self._scipy_each(scipy_name).reshape(self.shape + event_shape)
        else:
            expected = getattr(self.scipy_dist, scipy_name)(**self.scipy_params)
        array.assert_allclose(actual, expected)

    def check_batch_shape(self, is_gpu):
        self.assertEqual(self._get_dist(is_gpu).batch_shape, self.shape)

    def check_event_shape(self, is_gpu):
        self.assertEqual(self._get_dist(is_gpu).event_shape, self.event_shape)

    def check_support(self, is_gpu):
        self.assertEqual(self._get_dist(is_gpu).support, self.support)

    def check_cdf(self, is_gpu):
        self._check_at_sample(is_gpu, "cdf", "cdf", self.sample_for_test())

    def check_log_cdf(self, is_gpu):
        self._check_at_sample(is_gpu, "log_cdf", "logcdf", self.sample_for_test())

    def check_survival(self, is_gpu):
        self._check_at_sample(is_gpu, "survival_function", "sf", self.sample_for_test())

    def check_log_survival(self, is_gpu):
        self._check_at_sample(is_gpu, "log_survival_function", "logsf", self.sample_for_test())

    def check_prob(self, is_gpu):
        self._check_at_sample(is_gpu, "prob", "pdf" if self.continuous else "pmf", self.sample_for_test())

    def check_icdf(self, is_gpu):
        p = np.random.uniform(1e-5, 1 - 1e-5, self.sample_shape + self.shape).astype(np.float32)
        self._check_at_sample(is_gpu, "icdf", "ppf", p)

    def check_entropy(self, is_gpu):
        self._check_property(is_gpu, "entropy", "entropy", ())

    def check_mean(self, is_gpu):
        self._check_property(is_gpu, "mean", "mean", self.cpu_dist.event_shape)

    def check_variance(self, is_gpu):
        self._check_property(is_gpu, "variance", "var", self.cpu_dist.event_shape)

    def check_stddev(self, is_gpu):
        self._check_property(is_gpu, "stddev", "std")

    def check_log_prob(self, is_gpu):
        name = "logpdf" if self.continuous else "logpmf"
        sample = self.sample_for_test()
        if not self.scipy_onebyone:
            self._check_at_sample(is_gpu, "log_prob", name, sample)
            return
        actual = self._get_dist(is_gpu).log_prob(cuda.to_gpu(sample) if is_gpu else sample).data
        n_samples, n_batch, n_event = (
            utils.size_of_shape(s) for s in (self.sample_shape, self.shape, self.event_shape)
        )
        each = np.swapaxes(sample.reshape(n_samples, n_batch, n_event), 0, 1)
        each = each.reshape((-1, *self.sample_shape, *self.event_shape))
        expected = np.vstack(
            [
                getattr(self.scipy_dist, name)(x, **params)
                for params, x in zip(self.scipy_onebyone_params_iter(), each, strict=True)
            ]
        )
        expected = expected.reshape(n_batch, -1).T.reshape(self.sample_shape + self.shape)
        array.assert_allclose(actual, expected)

    def check_sample(self, is_gpu):
        dist = self._get_dist(is_gpu)
        actual = dist.sample(sample_shape=(_N_SAMPLES, *self.sample_shape)).data
        if self.scipy_onebyone:
            event_shape = dist.event_shape
            expected = self._scipy_each("rvs", size=(_N_SAMPLES, *self.sample_shape))
            expected = expected.reshape((utils.size_of_shape(self.shape), _N_SAMPLES, *self.sample_shape, *event_shape))
            expected = np.moveaxis(expected, 0, expected.ndim - len(event_shape) - 1)
            expected = expected.reshape((_N_SAMPLES, *self.sample_shape, *self.shape, *event_shape))
        else:
            expected = self.scipy_dist.rvs(size=(_N_SAMPLES, *self.sample_shape, *self.shape), **self.scipy_params)
        for statistic in ("mean", "std"):
            array.assert_allclose(
                getattr(actual, statistic)(axis=0), getattr(expected, statistic)(axis=0), atol=3e-2, rtol=3e-2
            )


_TARGETS = (
    "batch_shape",
    "cdf",
    "entropy",
    "event_shape",
    "icdf",
    "log_cdf",
    "log_prob",
    "log_survival",
    "mean",
    "prob",
    "sample",
    "stddev",
    "support",
    "survival",
    "variance",
)


def _add_tests(target):
    def test_cpu(self):
        getattr(self, f"check_{target}")(False)

    def test_gpu(self):
        getattr(self, f"check_{target}")(True)

    for method, mark in ((test_cpu, None), (test_gpu, attr.gpu)):
        method.__name__ = method.__name__.replace("test", f"test_{target}")
        method.__qualname__ = f"distribution_unittest.{method.__name__}"
        test = skip_not_in_test_target(target)(method)
        setattr(distribution_unittest, method.__name__, mark(test) if mark and attr.is_available() else test)


for _target in _TARGETS:
    _add_tests(_target)
