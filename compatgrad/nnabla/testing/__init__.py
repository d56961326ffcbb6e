"""Helpers for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def assert_allclose(
    actual: ArrayLike,
    desired: ArrayLike,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
) -> None:
    """Asserts abs(actual - desired) <= atol + rtol * abs(desired) for all elements.

    It is `numpy.testing.assert_allclose` with other default tolerances.

    Args:
        actual: numbers of any shape.
        desired: numbers of the same shape, or one number.
        rtol: the relative tolerance.
        atol: the absolute tolerance.
        equal_nan: whether NaN equals NaN.
        err_msg: text for the message of the error.
        verbose: whether the message contains the values.

    Raises:
        AssertionError: an element differs by more, or the shapes differ.

    Example:
        >>> from compatgrad.nnabla.testing import assert_allclose
        >>> assert_allclose(np.float32([1.0, 2.0]), [1.0, 2.00001])
        >>> assert_allclose([1.0], [1.1], rtol=0.2)

    Source: `nnabla.testing.assert_allclose` of nnabla 1.39.0.
    """
    numpy.testing.assert_allclose(actual, desired, rtol, atol, equal_nan, err_msg, verbose)
