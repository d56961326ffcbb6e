"""`mx.np.fallback`: functions that NumPy computes, on copies and without gradients."""

from __future__ import annotations

from typing import Any

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


def __getattr__(name: str) -> Any:
    from .. import numpy

    if name in NAMES:
        return getattr(numpy, name)
    if name == "__all__":  # what this NumPy has
        return [n for n in NAMES if hasattr(numpy, n)]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
