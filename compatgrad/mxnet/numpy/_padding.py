"""`mx.np.pad`."""

from __future__ import annotations

from typing import Any

import numpy as onp

from ..ndarray._operator import op
from ._arguments import _array
from ._joining import concatenate
from ._picking import repeat, take

__all__ = ["pad"]


def pad(x: Any, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> Any:
    """More elements around the array: "constant" ones (`constant_values`), or the "edge", "reflect", "symmetric"."""
    if pad_width is None:
        raise TypeError("pad: pad_width is missing")
    a = _array("pad", x, "array")
    widths = onp.broadcast_to(onp.asarray(pad_width), (a.ndim, 2)).tolist()
    if mode == "constant":
        value = float(kwargs.get("constant_values", 0))
        return op.pad(a, pad_width=tuple(n for w in widths for n in w), value=value)
    if mode in ("maximum", "minimum"):
        extreme = op.max if mode == "maximum" else op.min
        for i, ends in enumerate(widths):
            fill = extreme(a, axis=(i,), keepdims=True)
            before, after = ([repeat(fill, n, axis=i)] if n else [] for n in ends)
            a = concatenate([*before, a, *after], axis=i)
        return a
    if mode not in ("edge", "reflect", "symmetric"):
        raise ValueError("pad: mode must be 'constant', 'edge', 'reflect', 'symmetric', 'maximum' or 'minimum', got "
                         f"{mode!r}")  # fmt: skip
    for i, (before, after) in enumerate(widths):
        at = onp.pad(onp.arange(a.shape[i]), (before, after), mode=mode)
        a = take(a, at, axis=i)
    return a
