"""iDeep's names; iDeep itself is never available, and torch's own kernels take its place."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.chainer import _backend


class mdarray:
    """Class of iDeep's arrays, which compatgrad does not have: nothing is an instance of it.

    Example:
        >>> isinstance(np.zeros(2), chainer.backends.intel64.mdarray)
        False

    Source: `chainer.backends.intel64.mdarray` of Chainer 7.8.1.
    """


class Intel64Device(_backend.Device):
    """Device of iDeep, which compatgrad does not have: making one raises RuntimeError. torch's own kernels take its
    place.

    Raises:
        RuntimeError: always.

    Example:
        >>> chainer.backend.Intel64Device()
        Traceback (most recent call last):
          ...
        RuntimeError: iDeep is not available: compatgrad computes with torch's own CPU kernels.

    Source: `chainer.backend.Intel64Device` of Chainer 7.8.1.
    """

    xp = numpy
    name = "@intel64"
    supported_array_types = (numpy.ndarray, mdarray)

    __hash__ = _backend.Device.__hash__

    def __init__(self) -> None:
        check_ideep_available()

    @staticmethod
    def from_array(array: Any) -> None:
        """None: no array is iDeep's."""
        return None

    def __eq__(self, other):
        return isinstance(other, Intel64Device)


def is_ideep_available() -> bool:
    """Whether iDeep is available: never.

    Returns:
        False.

    Example:
        >>> chainer.backends.intel64.is_ideep_available()
        False

    Source: `chainer.backends.intel64.is_ideep_available` of Chainer 7.8.1.
    """
    return False


def check_ideep_available() -> None:
    """Raises RuntimeError: iDeep is never available.

    Example:
        >>> chainer.backends.intel64.check_ideep_available()
        Traceback (most recent call last):
          ...
        RuntimeError: iDeep is not available: compatgrad computes with torch's own CPU kernels.

    Source: `chainer.backends.intel64.check_ideep_available` of Chainer 7.8.1.
    """
    raise RuntimeError("iDeep is not available: compatgrad computes with torch's own CPU kernels.")


def should_use_ideep(level: str) -> bool:
    """Whether iDeep should be used: never.

    Args:
        level: "==always" or ">=auto".

    Returns:
        False.

    Raises:
        TypeError: the argument is missing.

    Example:
        >>> chainer.backends.intel64.should_use_ideep(">=auto")
        False

    Source: `chainer.backends.intel64.should_use_ideep` of Chainer 7.8.1.
    """
    return False


def inputs_all_ready(inputs: Any, supported_ndim: tuple[int, ...] = (2, 4)) -> bool:
    """Whether iDeep can take arrays: never.

    Args:
        inputs: the arrays.
        supported_ndim: numbers of axes that the function takes.

    Returns:
        False.

    Raises:
        TypeError: an argument is missing.

    Example:
        >>> chainer.backends.intel64.inputs_all_ready([np.zeros((2, 3), np.float32)])
        False

    Source: `chainer.backends.intel64.inputs_all_ready` of Chainer 7.8.1.
    """
    return False
