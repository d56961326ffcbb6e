"""What tests use."""

import numpy


def assert_allclose(actual, desired, rtol=1e-5, atol=1e-6, equal_nan=True, err_msg="", verbose=True):
    """`numpy.testing.assert_allclose` with the tolerances of `numpy.allclose`, roughly: atol is 1e-6."""
    numpy.testing.assert_allclose(actual, desired, rtol, atol, equal_nan, err_msg, verbose)
