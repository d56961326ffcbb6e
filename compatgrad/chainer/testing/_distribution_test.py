"""The module in which Chainer defines `distribution_unittest`; it needs pytest."""

from compatgrad.chainer.testing.distribution_test import distribution_unittest  # noqa: F401
