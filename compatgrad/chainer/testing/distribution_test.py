"""Base class of the tests that compare a distribution with SciPy's."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compatgrad.chainer import utils
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.testing import array, attr
from compatgrad.chainer.variable import Variable

_N_SAMPLES = 100000


def skip_not_in_test_target(test_target: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a decorator that skips a test unless its class lists it in `test_targets`.

    Args:
        test_target: name of the target.

    Returns:
        The decorator.

    Raises:
        AttributeError: when the test runs, its class has no `test_targets`.

    Example:
        >>> import unittest
        >>> from compatgrad.chainer.testing import distribution_test
        >>> class Test(unittest.TestCase):
        ...     test_targets = {"mean"}
        ...     @distribution_test.skip_not_in_test_target("cdf")
        ...     def test(self):
        ...         raise AssertionError
        >>> Test("test").run().skipped[0][1]
        "'cdf' does not exist in test_targets."

    Source: `chainer.testing.distribution_test.skip_not_in_test_target` of Chainer 7.8.1.
    """

    def decorator(method):
        @functools.wraps(method)
        def test(self, *args, **kwargs):
            if test_target not in self.test_targets:
                self.skipTest(f"'{test_target}' does not exist in test_targets.")
            method(self, *args, **kwargs)

        return test

    return decorator


class distribution_unittest(unittest.TestCase):
    """Base class of tests that compare `self.dist(**self.params)` with `self.scipy_dist` of `self.scipy_params`. A
    subclass defines `sample_for_test`, which returns an array, and `setUp_configure`, which sets these four,
    `test_targets` (names such as "cdf", "entropy" or "sample"), and `support`, `event_shape`, `continuous` and
    `options` where their defaults do not fit. It has the attributes `shape`, `sample_shape` and `is_variable`; with
    `scipy_onebyone` SciPy's distribution takes one set of parameters at a time. |

    Args:
        methodName: name of the test, as of `unittest.TestCase`.

    Example:
        @testing.parameterize(*testing.product({"shape": [(2, 3)], "is_variable": [True], "sample_shape": [(4,)]}))
        class TestNormal(testing.distribution_unittest):
            def setUp_configure(self):
                self.dist, self.scipy_dist = chainer.distributions.Normal, scipy.stats.norm
                loc, scale = np.zeros(self.shape, np.float32), np.ones(self.shape, np.float32)
                self.params, self.scipy_params = {"loc": loc, "scale": scale}, {"loc": loc, "scale": scale}
                self.test_targets = {"cdf", "mean", "sample"}
            def sample_for_test(self):
                return np.random.normal(size=self.sample_shape + self.shape).astype(np.float32)

    Source: `chainer.testing.distribution_test.distribution_unittest` of Chainer 7.8.1.
    """

    scipy_onebyone = False

    def setUp(self) -> None:
        """Configures the test. Raises ValueError for unknown names in `test_targets`."""
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

    def scipy_onebyone_params_iter(self) -> Iterator[dict[str, Any]]:
        """SciPy's parameters of each element of `shape`."""
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

    def check_batch_shape(self, is_gpu: bool) -> None:
        """Checks the shape of a batch; `is_gpu` says where."""
        self.assertEqual(self._get_dist(is_gpu).batch_shape, self.shape)

    def check_event_shape(self, is_gpu: bool) -> None:
        """Checks the shape of an event; `is_gpu` says where."""
        self.assertEqual(self._get_dist(is_gpu).event_shape, self.event_shape)

    def check_support(self, is_gpu: bool) -> None:
        """Checks the support; `is_gpu` says where."""
        self.assertEqual(self._get_dist(is_gpu).support, self.support)

    def check_cdf(self, is_gpu: bool) -> None:
        """Checks the cumulative distribution function; `is_gpu` says where."""
        self._check_at_sample(is_gpu, "cdf", "cdf", self.sample_for_test())

    def check_log_cdf(self, is_gpu: bool) -> None:
        """Checks the logarithm of the cumulative distribution function; `is_gpu` says where."""
        self._check_at_sample(is_gpu, "log_cdf", "logcdf", self.sample_for_test())

    def check_survival(self, is_gpu: bool) -> None:
        """Checks the survival function; `is_gpu` says where."""
        self._check_at_sample(is_gpu, "survival_function", "sf", self.sample_for_test())

    def check_log_survival(self, is_gpu: bool) -> None:
        """Checks the logarithm of the survival function; `is_gpu` says where."""
        self._check_at_sample(is_gpu, "log_survival_function", "logsf", self.sample_for_test())

    def check_prob(self, is_gpu: bool) -> None:
        """Checks the density or probability; `is_gpu` says where."""
        self._check_at_sample(is_gpu, "prob", "pdf" if self.continuous else "pmf", self.sample_for_test())

    def check_icdf(self, is_gpu: bool) -> None:
        """Checks the inverse cumulative distribution function; `is_gpu` says where."""
        p = np.random.uniform(1e-5, 1 - 1e-5, self.sample_shape + self.shape).astype(np.float32)
        self._check_at_sample(is_gpu, "icdf", "ppf", p)

    def check_entropy(self, is_gpu: bool) -> None:
        """Checks the entropy; `is_gpu` says where."""
        self._check_property(is_gpu, "entropy", "entropy", ())

    def check_mean(self, is_gpu: bool) -> None:
        """Checks the mean; `is_gpu` says where."""
        self._check_property(is_gpu, "mean", "mean", self.cpu_dist.event_shape)

    def check_variance(self, is_gpu: bool) -> None:
        """Checks the variance; `is_gpu` says where."""
        self._check_property(is_gpu, "variance", "var", self.cpu_dist.event_shape)

    def check_stddev(self, is_gpu: bool) -> None:
        """Checks the standard deviation; `is_gpu` says where."""
        self._check_property(is_gpu, "stddev", "std")

    def check_log_prob(self, is_gpu: bool) -> None:
        """Checks the logarithm of the density or probability; `is_gpu` says where."""
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

    def check_sample(self, is_gpu: bool) -> None:
        """Checks mean and standard deviation of samples; `is_gpu` says where."""
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
    def test_cpu(self) -> None:
        getattr(self, f"check_{target}")(False)

    def test_gpu(self) -> None:
        getattr(self, f"check_{target}")(True)

    for method, mark in ((test_cpu, None), (test_gpu, attr.gpu)):
        method.__name__ = method.__name__.replace("test", f"test_{target}")
        method.__qualname__ = f"distribution_unittest.{method.__name__}"
        method.__doc__ = f"Calls `check_{target}` on the {'GPU' if mark else 'CPU'}."
        test = skip_not_in_test_target(target)(method)
        setattr(distribution_unittest, method.__name__, mark(test) if mark and attr.is_available() else test)


for _target in _TARGETS:
    _add_tests(_target)
