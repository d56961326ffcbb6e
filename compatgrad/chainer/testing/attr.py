"""Marks that say what a test needs. They are pytest's, and need pytest."""

import os
import unittest

try:
    import pytest

    _error = None
except ImportError as e:
    _error = e

_gpu_limit = int(os.getenv("CHAINER_TEST_GPU_LIMIT", "-1"))


def is_available():
    """Whether pytest is installed."""
    return _error is None


def check_available():
    """Raise RuntimeError where pytest is not installed."""
    if _error is not None:
        raise RuntimeError(f"{__name__} is not available.\n\nReason: {type(_error).__name__}: {_error}")


def get_error():
    """The ImportError of pytest, or None."""
    return _error


def _mark(name, *args, **kwargs):
    check_available()
    return getattr(pytest.mark, name)(*args, **kwargs)


def chainerx(*args, **kwargs):
    """Mark a test that runs on ChainerX."""
    return _mark("chainerx", *args, **kwargs)


def cudnn(*args, **kwargs):
    """Mark a test that needs cuDNN."""
    return _mark("cudnn", *args, **kwargs)


def ideep(*args, **kwargs):
    """Mark a test that needs iDeep."""
    return _mark("ideep", *args, **kwargs)


def slow(*args, **kwargs):
    """Mark a test that takes long."""
    return _mark("slow", *args, **kwargs)


def multi_gpu(gpu_num):
    """Mark a test that needs `gpu_num` GPUs; skipped where ``CHAINER_TEST_GPU_LIMIT`` allows fewer."""
    check_available()

    def decorator(f):
        skip = unittest.skipIf(0 <= _gpu_limit < gpu_num, reason=f"{gpu_num} GPUs required")
        return skip(pytest.mark.gpu(f))

    return decorator


def gpu(f):
    """Mark a test that needs one GPU."""
    return multi_gpu(1)(f)
