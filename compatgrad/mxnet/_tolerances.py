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
    """float32."""
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """Relative tolerances by dtype."""
    return {_HALF: 1e-2, _SINGLE: 1e-4, _DOUBLE: 1e-5, **dict.fromkeys(_EXACT, 0)}


def default_atols() -> dict[np.dtype, float]:
    """Absolute tolerances by dtype."""
    return {_HALF: 1e-1, _SINGLE: 1e-3, _DOUBLE: 1e-20, **dict.fromkeys(_EXACT, 0)}


def default_numeric_eps() -> dict[np.dtype, float]:
    """Steps of finite differences by dtype: powers of two, so that they are exact."""
    return {_HALF: 2.0**-6, _SINGLE: 2.0**-9, _DOUBLE: 2.0**-14}


def effective_dtype(dat: Any) -> np.dtype:
    """The dtype whose precision `dat` has: float16 for float32 where the GPU multiplies with TF32."""
    dtype = np.dtype(dat.dtype)
    ctx = getattr(dat, "ctx", None)
    if dtype == _SINGLE and getattr(ctx, "device_type", None) == "gpu":
        if get_cuda_compute_capability(ctx) >= 80 and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0":
            return _HALF
    return dtype


def get_tolerance(dat: Any, tol: Any, default_tol: dict[np.dtype, float]) -> float:
    """`tol` if it is a number, else its entry for `dat`'s dtype, else the default one."""
    if isinstance(tol, numbers.Number):
        return tol  # type: ignore[return-value]
    dtype = effective_dtype(dat)
    return (tol or {}).get(dtype, default_tol[dtype])


def get_tols(x: Any, y: Any, rtol: Any, atol: Any) -> tuple[float, float]:
    """The larger of the tolerances of two arrays or numbers."""
    pair = [np.array(a) if isinstance(a, numbers.Number) else a for a in (x, y)]
    return (
        max(get_tolerance(a, rtol, default_rtols()) for a in pair),
        max(get_tolerance(a, atol, default_atols()) for a in pair),
    )


def get_rtol(rtol: float | None = None, dtype: np.dtype = _DOUBLE) -> float:
    """`rtol`, or the default of `dtype`."""
    return default_rtols()[dtype] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: np.dtype = _DOUBLE) -> float:
    """`atol`, or the default of `dtype`."""
    return default_atols()[dtype] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """`etol`, the share of elements that may differ, or 0."""
    return 0 if etol is None else etol


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same shape and values."""
    return np.array_equal(_numpy(a), _numpy(b))


def checkShapes(a: Any, b: Any) -> None:
    """AssertionError where the shapes differ."""
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
    """`numpy.allclose` with the tolerances of float64 as defaults."""
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(_numpy(a), _numpy(b), rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan)


def _numpy(a: Any) -> Any:
    return a.asnumpy() if isinstance(a, NDArray) else a


def _violation(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """How many times the tolerance each difference is."""
    with np.errstate(invalid="ignore"):
        difference = np.where(np.equal(a, b), 0, np.abs(a - b))
        return difference / (atol + rtol * np.abs(b) + 1e-20)


def locationError(a: Any, b: Any, index: Any, names: tuple[str, str], maxError: bool = False) -> str:
    """Text that says where two arrays differ, and by what."""
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
    """AssertionError with the worst places unless |a - b| <= atol + rtol * |b| everywhere.

    Arrays, NDArrays or numbers. Tolerances: numbers, dicts by dtype, or None for the defaults of the less exact dtype.
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
    """`assert_almost_equal`, but a share `etol` of the elements may differ."""
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
    """`assert_almost_equal` with NumPy's tolerances."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Any = None, atol: Any = None, names: tuple[str, str] = ("a", "b")
) -> None:
    """`assert_almost_equal` of the elements that are NaN in neither array."""
    a, b = np.copy(_numpy(a)), np.copy(_numpy(b))
    nans = np.isnan(a) | np.isnan(b)
    a[nans] = 0
    b[nans] = 0
    assert_almost_equal(a, b, rtol, atol, names)
