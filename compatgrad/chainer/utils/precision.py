"""Functions that compute in float32 for float16 inputs."""

import functools

import numpy


def _cast(arrays, src, dst):
    return tuple([x.astype(dst) if x is not None and x.dtype == src else x for x in arrays])


def _fp16_mixed_precision_helper(fn):
    """Decorator of ``forward(self, inputs)``: float16 inputs are cast to float32 first.

    The results are cast back to float16 unless an input has another floating dtype.
    """

    @functools.wraps(fn)
    def wrapper(self, in_data):
        only_half = all([x.dtype.kind != "f" or x.dtype == numpy.float16 for x in in_data])
        out_data = fn(self, _cast(in_data, numpy.float16, numpy.float32))
        return _cast(out_data, numpy.float32, numpy.float16) if only_half else out_data

    return wrapper
