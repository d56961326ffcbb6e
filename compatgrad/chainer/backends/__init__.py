"""Backends: NumPy, CuPy, and placeholders for iDeep and ChainerX."""

from compatgrad.chainer.backends import cuda, intel64  # noqa: F401
