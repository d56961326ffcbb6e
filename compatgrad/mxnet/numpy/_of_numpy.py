"""NumPy's own functions on arrays of `mx.np`: on copies, and without gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad.core import notes

from ..ndarray.ndarray import NDArray
from ..util import _check_ufunc_options
from ._array import NUMBERS, constant, finish, ndarray, unmoved
from ._docs import documented
from ._of_numpy_examples import EXAMPLES

# the names in `mx.np.fallback`
NAMES = (
    "allclose alltrue apply_along_axis apply_over_axes argpartition argwhere array_equal array_equiv choose "
    "compress corrcoef correlate count_nonzero cov digitize divmod extract flatnonzero float_power frexp "
    "heaviside histogram2d histogram_bin_edges histogramdd i0 in1d interp intersect1d isclose isin ix_ lexsort "
    "min_scalar_type mirr modf msort nanargmax nanargmin nancumprod nancumsum nanmax nanmedian nanmin "
    "nanpercentile nanprod nanquantile ndim npv partition piecewise packbits poly polyadd polydiv polyfit "
    "polyint polymul polysub positive ppmt promote_types ptp pv rate real result_type rollaxis roots "
    "searchsorted select setdiff1d setxor1d signbit size spacing take_along_axis trapz tril_indices_from "
    "trim_zeros triu_indices_from union1d unpackbits unwrap vander"
).split()
# names of `mx.np` that NumPy computes; the other functions of `fallback` are in separate modules
COPIED = frozenset(
    "allclose apply_along_axis apply_over_axes argpartition argwhere array_equal array_equiv   "
    "broadcast_arrays choose compress corrcoef correlate count_nonzero cov cumprod  "
    "  digitize divmod  extract flatnonzero float_power fmod frexp genfromtxt "
    "  heaviside  histogram2d histogram_bin_edges histogramdd i0 in1d  interp "
    "intersect1d isclose isin ix_ lexsort loadtxt  median min_scalar_type modf msort "
    "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod "
    "nanquantile nanstd nansum nanvar packbits partition  piecewise poly polyadd polydiv polyfit "
    "polyint polymul polysub  promote_types ptp  real  result_type rollaxis roots "
    "searchsorted select setdiff1d setxor1d  spacing trapz tril_indices "
    "tril_indices_from trim_zeros triu_indices triu_indices_from union1d unpackbits  unwrap "
    "vander mirr npv ppmt pv rate".split()
)


def to_numpy(x: Any) -> Any:
    if isinstance(x, NDArray):
        return x.asnumpy()
    if isinstance(x, (list, tuple)):
        return type(x)(to_numpy(v) for v in x)
    return {k: to_numpy(v) for k, v in x.items()} if isinstance(x, dict) else x


def from_numpy(x: Any, device: torch.device | None = None) -> Any:
    if isinstance(x, onp.ndarray):
        if x.dtype.kind not in "biuf" or x.dtype in (onp.uint16, onp.uint32, onp.uint64):
            return x
        return constant(torch.from_numpy(onp.ascontiguousarray(x)).reshape(onp.shape(x)).to(device))
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(from_numpy(v, device) for v in x)
    return x  # NumPy's scalars stay


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> onp.ndarray:
    return onp.isin(onp.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _removed(name: str) -> Callable[..., Any]:
    """Stands for a function that newer versions of NumPy have removed: calling it raises."""
    same: dict[str, Any] = {"in1d": _in1d, "msort": lambda a: onp.sort(a, axis=0),
                            "trapz": getattr(onp, "trapezoid", None)}  # fmt: skip
    if same.get(name):
        return same[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"NumPy {onp.__version__} has no function {name}; numpy_financial has those of finance")

    return call


@documented
def lcm(x1: ndarray | int, x2: ndarray | int, out: ndarray | None = None, **kwargs: Any) -> ndarray:
    """The least common multiple of integers.

    Args:
        x1: ndarray of integers, or one.
        x2: ndarray of integers, or one; two arrays broadcast.

    Returns:
        ndarray of the wider dtype of both arrays, without a gradient; of two numbers NumPy's result.

    Raises:
        TypeError: an argument is neither an array nor a number, or is floating-point, or a keyword is unknown.
        NotImplementedError: an option of NumPy's ufuncs has another value than its default.
        ValueError: shapes do not broadcast.

    Example:
        >>> mx.np.lcm(mx.np.array([4, 6], dtype="int32"), 10)
        array([20, 30], dtype=int32)
    """
    if kwargs:
        _check_ufunc_options("lcm", kwargs)
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.lcm(x1, x2)
    for x in (x1, x2):
        if not isinstance(x, (NDArray, *NUMBERS)):
            raise TypeError(f"lcm: type {type(x)} not supported: expected an mx.np.ndarray or a number")
    device = (x1 if isinstance(x1, NDArray) else x2).tensor.device
    return finish(unmoved(from_numpy(onp.asarray(onp.lcm(to_numpy(x1), to_numpy(x2))), device), x1, x2), out)


_DOC = """`numpy.{name}` of arrays of `mx.np`: NumPy computes it on copies, and there is no gradient.

    Args:
        *args: those of `numpy.{name}`; ndarrays may stand for its arrays.
        **kwargs: likewise.

    Returns:
        What NumPy's function returns, with ndarrays for arrays of numbers.

    Raises:
        RuntimeError: this version of NumPy does not have the function. Other errors are those of NumPy's function.

    Example:
        {example}

    Source: `numpy.{name}`; MXNet 1.9.1 leaves such functions to NumPy.
    """
_MISSING = """Traceback (most recent call last):
    ...
RuntimeError: NumPy ... has no function {name}; numpy_financial has those of finance"""


@functools.cache
def of_numpy(name: str) -> Callable[..., Any]:
    """Wraps a function of NumPy to take and give arrays of `mx.np`, without gradients."""
    function = getattr(onp, name, None) or _removed(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if notes.listener is not None:
            notes.listener("numpy", f"np.{name}")
        device = next((x.tensor.device for x in (*args, *kwargs.values()) if isinstance(x, NDArray)), None)
        y = function(*to_numpy(args), **to_numpy(kwargs))
        # MXNet computes those that are not in `fallback` itself, and gives arrays where NumPy gives scalars
        return from_numpy(y if name in NAMES or not isinstance(y, onp.generic) else onp.asarray(y), device)

    call.__name__ = call.__qualname__ = name
    called, result = EXAMPLES.get(name) or (f"{name}(1)", _MISSING.format(name=name))
    example = f">>> mx.np.{called.replace('A(', 'mx.np.array(')}\n{result}".replace("\n", "\n        ")
    call.__doc__ = _DOC.format(name=name, example=example)
    return call
