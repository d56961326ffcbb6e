"""Conditions for ``doctest`` blocks: each returns whether to skip."""

import os

from compatgrad.chainer.testing.attr import _gpu_limit
from compatgrad.chainer.testing.helper import _requirements_met


def skipif(condition):
    """`condition`, except in a documentation build, where a skipped block would vanish from the page."""
    return False if os.environ.get("READTHEDOCS") == "True" else condition


def skipif_requires_satisfied(*requirements):
    """Skip where all requirements are installed."""
    return skipif(True) if _requirements_met(requirements) else False


def skipif_not_enough_cuda_devices(device_count):
    """Skip where ``CHAINER_TEST_GPU_LIMIT`` allows fewer GPUs."""
    return skipif(0 <= _gpu_limit < device_count)
