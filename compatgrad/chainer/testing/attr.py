"""Pytest marks for the requirements of a test. They need pytest."""

from __future__ import annotations

import os
import unittest
from collections.abc import Callable
from typing import Any

try:
    import pytest

    _error = None
except ImportError as e:
    _error = e

_gpu_limit = int(os.getenv("CHAINER_TEST_GPU_LIMIT", "-1"))


def is_available() -> bool:
    """Whether pytest, whose marks these are, is installed.

    Returns:
        True if it is.

    Example:
        >>> from compatgrad.chainer.testing import attr
        >>> if attr.is_available():
        ...     attr.check_available()

    Source: `chainer.testing.attr.is_available` of Chainer 7.8.1.
    """
    return _error is None


def check_available() -> None:
    """Raises RuntimeError, with the reason, if pytest is not installed.

    Example:
        >>> from compatgrad.chainer.testing import attr
        >>> if attr.is_available():
        ...     attr.check_available()

    Source: `chainer.testing.attr.check_available` of Chainer 7.8.1.
    """
    if _error is not None:
        raise RuntimeError(f"{__name__} is not available.\n\nReason: {type(_error).__name__}: {_error}")


def get_error() -> ImportError | None:
    """The reason why pytest cannot be imported.

    Returns:
        The ImportError, or None.

    Example:
        >>> from compatgrad.chainer.testing import attr
        >>> attr.is_available() == (attr.get_error() is None)
        True

    Source: `chainer.testing.attr.get_error` of Chainer 7.8.1.
    """
    return _error


def _mark(name, *args, **kwargs):
    check_available()
    return getattr(pytest.mark, name)(*args, **kwargs)


def chainerx(*args: Any, **kwargs: Any) -> Any:
    """Marks a test that runs on ChainerX.

    Args:
        *args: the test, or arguments of the mark.
        **kwargs: arguments of the mark.

    Returns:
        The marked test, or a decorator.

    Raises:
        RuntimeError: pytest is not installed.

    Example:
        @attr.chainerx
        def test_relu():
            ...

    Source: `chainer.testing.attr.chainerx` of Chainer 7.8.1.
    """
    return _mark("chainerx", *args, **kwargs)


def cudnn(*args: Any, **kwargs: Any) -> Any:
    """Marks a test that needs cuDNN.

    Args:
        *args: the test, or arguments of the mark.
        **kwargs: arguments of the mark.

    Returns:
        The marked test, or a decorator.

    Raises:
        RuntimeError: pytest is not installed.

    Example:
        @attr.cudnn
        def test_convolution():
            ...

    Source: `chainer.testing.attr.cudnn` of Chainer 7.8.1.
    """
    return _mark("cudnn", *args, **kwargs)


def ideep(*args: Any, **kwargs: Any) -> Any:
    """Marks a test that needs iDeep.

    Args:
        *args: the test, or arguments of the mark.
        **kwargs: arguments of the mark.

    Returns:
        The marked test, or a decorator.

    Raises:
        RuntimeError: pytest is not installed.

    Example:
        @attr.ideep
        def test_convolution():
            ...

    Source: `chainer.testing.attr.ideep` of Chainer 7.8.1.
    """
    return _mark("ideep", *args, **kwargs)


def slow(*args: Any, **kwargs: Any) -> Any:
    """Marks a test that takes long.

    Args:
        *args: the test, or arguments of the mark.
        **kwargs: arguments of the mark.

    Returns:
        The marked test, or a decorator.

    Raises:
        RuntimeError: pytest is not installed.

    Example:
        @attr.slow
        def test_training():
            ...

    Source: `chainer.testing.attr.slow` of Chainer 7.8.1.
    """
    return _mark("slow", *args, **kwargs)


def multi_gpu(gpu_num: int) -> Callable[[Any], Any]:
    """Makes a decorator that marks a test that needs several GPUs, by pytest's mark `gpu`, and skips it where the
    environment variable CHAINER_TEST_GPU_LIMIT allows fewer.

    Args:
        gpu_num: number of GPUs.

    Returns:
        The decorator.

    Raises:
        RuntimeError: pytest is not installed.

    Example:
        @attr.multi_gpu(2)
        def test_copy():
            ...

    Source: `chainer.testing.attr.multi_gpu` of Chainer 7.8.1.
    """
    check_available()

    def decorator(f):
        skip = unittest.skipIf(0 <= _gpu_limit < gpu_num, reason=f"{gpu_num} GPUs required")
        return skip(pytest.mark.gpu(f))

    return decorator


def gpu(f: Any) -> Any:
    """Marks a test that needs one GPU; skipped where the environment variable CHAINER_TEST_GPU_LIMIT is 0.

    Args:
        f: the test.

    Returns:
        The marked test.

    Raises:
        RuntimeError: pytest is not installed.

    Example:
        @attr.gpu
        def test_to_gpu():
            ...

    Source: `chainer.testing.attr.gpu` of Chainer 7.8.1.
    """
    return multi_gpu(1)(f)
