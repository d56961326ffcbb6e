"""Conditions for ``doctest`` blocks: each returns whether to skip."""

from __future__ import annotations

import os

from compatgrad.chainer.testing.attr import _gpu_limit
from compatgrad.chainer.testing.helper import _requirements_met


def skipif(condition: bool) -> bool:
    """Whether to skip a block of a doctest. In a build of the documentation (READTHEDOCS is "True") no block is
    skipped, because it would vanish from the page.

    Args:
        condition: whether to skip the block outside a build of the documentation.

    Returns:
        The condition, or False in a build of the documentation.

    Raises:
        TypeError: the argument is missing.

    Example:
        >>> from compatgrad.chainer.testing import doctest_helper
        >>> doctest_helper.skipif(False)
        False

    Source: `chainer.testing.doctest_helper.skipif` of Chainer 7.8.1.
    """
    return False if os.environ.get("READTHEDOCS") == "True" else condition


def skipif_requires_satisfied(*requirements: str) -> bool:
    """Whether to skip a block of a doctest because required packages are installed.

    Args:
        *requirements: the packages, as "numpy>=1.26".

    Returns:
        True if all are installed, except in a build of the documentation.

    Raises:
        ImportError: the package `packaging` is not installed.
        packaging.requirements.InvalidRequirement: a requirement cannot be read.

    Example:
        >>> from compatgrad.chainer.testing import doctest_helper
        >>> doctest_helper.skipif_requires_satisfied("numpy<1")
        False

    Source: `chainer.testing.doctest_helper.skipif_requires_satisfied` of Chainer 7.8.1.
    """
    return skipif(True) if _requirements_met(requirements) else False


def skipif_not_enough_cuda_devices(device_count: int) -> bool:
    """Whether to skip a block of a doctest because the environment variable CHAINER_TEST_GPU_LIMIT allows fewer GPUs
    than it needs.

    Args:
        device_count: number of GPUs that the block needs.

    Returns:
        True if it allows fewer, except in a build of the documentation.

    Raises:
        TypeError: the variable is set, and `device_count` is no number.

    Example:
        >>> from compatgrad.chainer.testing import doctest_helper
        >>> doctest_helper.skipif_not_enough_cuda_devices(0)
        False

    Source: `chainer.testing.doctest_helper.skipif_not_enough_cuda_devices` of Chainer 7.8.1.
    """
    return skipif(0 <= _gpu_limit < device_count)
