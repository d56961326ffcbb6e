"""iDeep, which is never there: torch's own kernels take its place."""

import numpy

from compatgrad.chainer import _backend


class mdarray:
    """Nothing is an instance of this."""


class Intel64Device(_backend.Device):
    """iDeep's device. Making one raises RuntimeError."""

    xp = numpy
    name = "@intel64"
    supported_array_types = (numpy.ndarray, mdarray)

    __hash__ = _backend.Device.__hash__

    def __init__(self):
        check_ideep_available()

    @staticmethod
    def from_array(array):
        """None: no array is iDeep's."""
        return None

    def __eq__(self, other):
        return isinstance(other, Intel64Device)


def is_ideep_available():
    """False."""
    return False


def check_ideep_available():
    """Raises RuntimeError."""
    raise RuntimeError("iDeep is not available: compatgrad computes with torch's own CPU kernels.")


def should_use_ideep(level):
    """False."""
    return False


def inputs_all_ready(inputs, supported_ndim=(2, 4)):
    """False."""
    return False
