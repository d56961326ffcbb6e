"""Comparison of arrays with tolerances that depend on the dtype."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from .ndarray import NDArray
from .util import get_cuda_compute_capability

_HALF, _SINGLE, _DOUBLE = (np.dtype(t) for t in ("float16", "float32", "float64"))
_EXACT = [np.dtype(t) for t in ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")]


def default_dtype() -> type:
    """The dtype of arrays that tests make: float32.

    Returns:
        The type.

    Example:
        >>> mx.test_utils.default_dtype()
        <class 'numpy.float32'>

    Source: `mxnet.test_utils.default_dtype` of MXNet 1.9.1.
    """
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """The relative tolerances of comparisons.

    Returns:
        A dict from dtypes to numbers.

    Example:
        >>> mx.test_utils.default_rtols()[np.dtype("float32")]
        0.0001

    Source: `mxnet.test_utils.default_rtols` of MXNet 1.9.1.
    """
    return {_HALF: 1e-2, _SINGLE: 1e-4, _DOUBLE: 1e-5, **dict.fromkeys(_EXACT, 0)}


def default_atols() -> dict[np.dtype, float]:
    """The absolute tolerances of comparisons.

    Returns:
        A dict from dtypes to numbers.

    Example:
        >>> mx.test_utils.default_atols()[np.dtype("float32")]
        0.001

    Source: `mxnet.test_utils.default_atols` of MXNet 1.9.1.
    """
    return {_HALF: 1e-1, _SINGLE: 1e-3, _DOUBLE: 1e-20, **dict.fromkeys(_EXACT, 0)}


def default_numeric_eps() -> dict[np.dtype, float]:
    """The steps of finite differences: powers of two, so that they are exact.

    Returns:
        A dict from floating dtypes to numbers.

    Example:
        >>> mx.test_utils.default_numeric_eps()[np.dtype("float32")] == 2**-9
        True

    Source: `mxnet.test_utils.default_numeric_eps` of MXNet 1.9.1.
    """
    return {_HALF: 2.0**-6, _SINGLE: 2.0**-9, _DOUBLE: 2.0**-14}


def effective_dtype(dat: Any) -> np.dtype:
    """The dtype whose precision an array has: float16 for float32 where the GPU multiplies with TF32.

    Args:
        dat: an array of NumPy or NDArray.

    Returns:
        The `numpy.dtype`.

    Raises:
        AttributeError: `dat` is no array.

    Example:
        >>> mx.test_utils.effective_dtype(nd.ones(2))
        dtype('float32')

    Source: `mxnet.test_utils.effective_dtype` of MXNet 1.9.1.
    """
    dtype = np.dtype(dat.dtype)
    ctx = getattr(dat, "ctx", None)
    if dtype == _SINGLE and getattr(ctx, "device_type", None) == "gpu":
        if get_cuda_compute_capability(ctx) >= 80 and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0":
            return _HALF
    return dtype


def get_tolerance(dat: Any, tol: Any, default_tol: dict[np.dtype, float]) -> float:
    """The tolerance of an array.

    Args:
        dat: the array.
        tol: a number, which is the result, or a dict from dtypes to numbers, or None.
        default_tol: the numbers of dtypes that `tol` does not have.

    Returns:
        The number.

    Raises:
        AttributeError: `dat` is no array.
        KeyError: no dict has its dtype.

    Example:
        >>> mx.test_utils.get_tolerance(nd.ones(2), None, mx.test_utils.default_rtols())
        0.0001

    Source: `mxnet.test_utils.get_tolerance` of MXNet 1.9.1.
    """
    if isinstance(tol, numbers.Number):
        return tol  # type: ignore[return-value]
    dtype = effective_dtype(dat)
    return (tol or {}).get(dtype, default_tol[dtype])


def get_tols(x: Any, y: Any, rtol: Any, atol: Any) -> tuple[float, float]:
    """The tolerances of the comparison of two arrays: the larger ones of theirs.

    Args:
        x, y: arrays or numbers.
        rtol, atol: relative and absolute tolerance, each a number, a dict from dtypes to numbers, or None for the
            default.

    Returns:
        The two numbers.

    Raises:
        KeyError: a dtype has no tolerance.

    Example:
        >>> mx.test_utils.get_tols(nd.ones(2), nd.ones(2, dtype="float16"), None, 0.5)
        (0.01, 0.5)

    Source: `mxnet.test_utils.get_tols` of MXNet 1.9.1.
    """
    pair = [np.array(a) if isinstance(a, numbers.Number) else a for a in (x, y)]
    return (
        max(get_tolerance(a, rtol, default_rtols()) for a in pair),
        max(get_tolerance(a, atol, default_atols()) for a in pair),
    )


def get_rtol(rtol: float | None = None, dtype: np.dtype = _DOUBLE) -> float:
    """The relative tolerance of a dtype.

    Args:
        rtol: a number, which is the result, or None.
        dtype: the `numpy.dtype`.

    Returns:
        The number.

    Raises:
        KeyError: the dtype has none.

    Example:
        >>> mx.test_utils.get_rtol(), mx.test_utils.get_rtol(0.5)
        (1e-05, 0.5)

    Source: `mxnet.test_utils.get_rtol` of MXNet 1.9.1.
    """
    return default_rtols()[dtype] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: np.dtype = _DOUBLE) -> float:
    """The absolute tolerance of a dtype.

    Args:
        atol: a number, which is the result, or None.
        dtype: the `numpy.dtype`.

    Returns:
        The number.

    Raises:
        KeyError: the dtype has none.

    Example:
        >>> mx.test_utils.get_atol(), mx.test_utils.get_atol(0.5)
        (1e-20, 0.5)

    Source: `mxnet.test_utils.get_atol` of MXNet 1.9.1.
    """
    return default_atols()[dtype] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may differ.

    Args:
        etol: the share, or None for 0.

    Returns:
        The share.

    Raises:
        Nothing.

    Example:
        >>> mx.test_utils.get_etol(), mx.test_utils.get_etol(0.5)
        (0, 0.5)

    Source: `mxnet.test_utils.get_etol` of MXNet 1.9.1.
    """
    return 0 if etol is None else etol


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same shape and values; NaN equals nothing.

    Args:
        a, b: arrays of NumPy, NDArrays or lists.

    Returns:
        A bool.

    Raises:
        Nothing.

    Example:
        >>> mx.test_utils.same(nd.ones(2), [1, 1])
        True

    Source: `mxnet.test_utils.same` of MXNet 1.9.1.
    """
    return np.array_equal(_numpy(a), _numpy(b))


def checkShapes(a: Any, b: Any) -> None:
    """Checks that two arrays have the same shape.

    Args:
        a, b: the arrays.

    Raises:
        AssertionError: the shapes differ.

    Example:
        >>> mx.test_utils.checkShapes(nd.ones(2), np.ones(2))

    Source: `mxnet.test_utils.checkShapes` of MXNet 1.9.1.
    """
    if a.shape != b.shape:
        raise AssertionError(f"shapes differ: {a.shape} and {b.shape}")


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether |a - b| <= atol + rtol * |b| everywhere.

    Args:
        a, b: arrays of NumPy, NDArrays or numbers.
        rtol, atol: the tolerances; None is 1e-5 and 1e-20, those of float64.
        equal_nan: whether NaN equals NaN.
        use_broadcast: whether shapes may differ that broadcast to each other.

    Returns:
        A bool.

    Raises:
        AssertionError: the shapes differ, where `use_broadcast` is false.
        ValueError: the shapes do not broadcast.

    Example:
        >>> mx.test_utils.almost_equal(nd.ones(2), 1.001, rtol=0.01)
        True

    Source: `mxnet.test_utils.almost_equal` of MXNet 1.9.1.
    """
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(_numpy(a), _numpy(b), rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan)


def _numpy(a: Any) -> Any:
    return a.asnumpy() if isinstance(a, NDArray) else a


def _violation(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Each difference divided by the tolerance."""
    with np.errstate(invalid="ignore"):
        difference = np.where(np.equal(a, b), 0, np.abs(a - b))
        return difference / (atol + rtol * np.abs(b) + 1e-20)


def locationError(a: Any, b: Any, index: Any, names: tuple[str, str], maxError: bool = False) -> str:
    """A text that describes the difference of two arrays at a position.

    Args:
        a, b: the arrays.
        index: the place, a tuple.
        names: names of the arrays in the text.
        maxError: whether it is the place of the largest difference.

    Returns:
        The text.

    Raises:
        IndexError: there is no such place.

    Example:
        >>> mx.test_utils.locationError(np.array([1.0, 2.0]), np.array([1.0, 3.0]), (1,), ("a", "b"))
        'Location of error: (1,), a=2.00000000, b=3.00000000'

    Source: `mxnet.test_utils.locationError` of MXNet 1.9.1.
    """
    kind = "maximum error" if maxError else "error"
    return f"Location of {kind}: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def _complaint(
    a: np.ndarray, b: np.ndarray, rtol: float, atol: float, names: tuple[str, str], equal_nan: bool, most: int
) -> str:
    a, b = np.broadcast_arrays(a, b)
    off = _violation(a.astype(np.float64), b.astype(np.float64), rtol, atol)
    if not equal_nan:
        off = np.where(np.isnan(off), np.inf, off)
    wrong = np.argwhere(~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))
    order = sorted((tuple(int(i) for i in w) for w in wrong), key=lambda i: -off[i])
    worst = order[0]
    lines = [
        f"Error {off[worst]:f} exceeds tolerance rtol={rtol:e}, atol={atol:e} "
        f"(mismatch {100 * len(wrong) / a.size:f}%).",
        locationError(a, b, worst, names, maxError=True),
    ]
    lines += [f"{n:3d}: Error {off[i]:f}  {locationError(a, b, i, names)}" for n, i in enumerate(order[:most], 1)]
    with np.printoptions(threshold=4, suppress=True):
        return "\n".join([*lines, f" {names[0]}: {a!r}", f" {names[1]}: {b!r}"])


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Any = None,
    atol: Any = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Checks that |a - b| <= atol + rtol * |b| everywhere.

    Args:
        a, b: arrays of NumPy, NDArrays or numbers.
        rtol, atol: the tolerances: numbers, dicts by dtype, or None for the defaults of the less exact dtype.
        names: names of the arrays in the message.
        equal_nan: whether NaN equals NaN.
        use_broadcast: whether shapes may differ that broadcast to each other.
        mismatches: the first number is how many places the message shows, worst first.

    Raises:
        AssertionError: a place differs by more, or the shapes differ where `use_broadcast` is false.
        ValueError: the shapes do not broadcast.

    Example:
        >>> mx.test_utils.assert_almost_equal(nd.array([1.0, 2.0]), np.array([1.0, 2.0001]))

    Source: `mxnet.test_utils.assert_almost_equal` of MXNet 1.9.1.
    """
    assert_almost_equal_with_err(a, b, rtol, atol, 0, names, equal_nan, mismatches, use_broadcast)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Any = None,
    atol: Any = None,
    etol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
    use_broadcast: bool = True,
) -> None:
    """`assert_almost_equal`, but a share of the elements may differ.

    Args:
        a, b, rtol, atol, names, equal_nan, mismatches, use_broadcast: as in `assert_almost_equal`.
        etol: the share; None is 0.

    Raises:
        AssertionError: more elements differ, or the shapes where `use_broadcast` is false.
        ValueError: the shapes do not broadcast.

    Example:
        >>> mx.test_utils.assert_almost_equal_with_err(nd.array([1, 2, 3, 4]), nd.array([1, 2, 3, 5]), etol=0.25)

    Source: `mxnet.test_utils.assert_almost_equal_with_err` of MXNet 1.9.1.
    """
    if not use_broadcast:
        checkShapes(a, b)
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = np.asarray(_numpy(a)), np.asarray(_numpy(b))
    if a.dtype == b.dtype == np.bool_:
        np.testing.assert_equal(a, b)
        return
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.size and 1 - np.count_nonzero(close) / close.size > get_etol(etol):
        raise AssertionError(_complaint(a, b, rtol, atol, names, equal_nan, mismatches[0]))


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """`assert_almost_equal` with NumPy's tolerances.

    Args:
        a, b: arrays of NumPy, NDArrays or numbers.
        rtol, atol: the tolerances.
        equal_nan: whether NaN equals NaN.

    Raises:
        AssertionError: a place differs by more.
        ValueError: the shapes do not broadcast.

    Example:
        >>> mx.test_utils.assert_allclose(nd.array([1, 2]), np.array([1.0, 2.0]))

    Source: `mxnet.test_utils.assert_allclose` of MXNet 1.9.1.
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Any = None, atol: Any = None, names: tuple[str, str] = ("a", "b")
) -> None:
    """`assert_almost_equal` of the elements that are NaN in neither array.

    Args:
        a, b, rtol, atol, names: as in `assert_almost_equal`; the arrays are of one shape.

    Raises:
        AssertionError: a place differs by more.

    Example:
        >>> mx.test_utils.assert_almost_equal_ignore_nan(nd.array([1, np.nan]), nd.array([1, 2]))

    Source: `mxnet.test_utils.assert_almost_equal_ignore_nan` of MXNet 1.9.1.
    """
    a, b = np.copy(_numpy(a)), np.copy(_numpy(b))
    nans = np.isnan(a) | np.isnan(b)
    a[nans] = 0
    b[nans] = 0
    assert_almost_equal(a, b, rtol, atol, names)
