"""Where the original keeps `distribution_unittest`, for what needs pytest."""

from compatgrad.chainer.testing.distribution_test import distribution_unittest  # noqa: F401
