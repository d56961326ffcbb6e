"""`mx.np.pad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from ..ndarray._operator import op
from ._arguments import _array
from ._docs import documented
from ._joining import concatenate
from ._picking import repeat, take

if TYPE_CHECKING:
    from ._array import ndarray

__all__ = ["pad"]


# the arguments of each mode, with the only supported value of those that have one
_OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "maximum": {"stat_length": None},
    "minimum": {"stat_length": None},
}


def check_options(mode: str, options: dict[str, Any]) -> None:
    """ValueError for arguments that a mode of `pad` does not have, or values that are not supported."""
    for name, value in options.items():
        known = _OPTIONS.get(mode, {})
        if name not in known:
            raise ValueError(f"pad: {name!r} is no argument of mode {mode!r}, which has {list(known) or 'none'}")
        if mode != "constant" and value not in (None, known[name]):
            raise ValueError(f"pad: {name} of mode {mode!r} must be {known[name]!r}, got {value!r}")


@documented
def pad(
    x: ndarray, pad_width: int | Sequence[int] | Sequence[Sequence[int]] = None, mode: str = "constant", **kwargs: Any
) -> ndarray:
    """Adds elements at both ends of axes.

    Args:
        pad_width: how many: one number, a pair (before, after), or such a pair for each axis.
        mode: what is added: "constant" numbers, the "edge" elements, "reflect" (mirrored at the edge elements),
            "symmetric" (mirrored at the edges), or the "maximum" or "minimum" along the axis.
        **kwargs: `constant_values`, the number of mode "constant", 0 without it; `reflect_type` of "reflect" and
            "symmetric", which must be "even"; `stat_length` of "maximum" and "minimum", which must be None.

    Raises:
        AssertionError: `x` is no array.
        TypeError: `pad_width` is missing, or not of integers.
        ValueError: `mode` has another value, it does not take an argument, or a width is negative.

    Example:
        >>> mx.np.pad(mx.np.array([1, 2]), 1)
        array([0., 1., 2., 0.])
        >>> mx.np.pad(mx.np.array([1, 2]), (0, 2), mode="edge")
        array([1., 2., 2., 2.])
    """
    if pad_width is None:
        raise TypeError("pad: pad_width is missing")
    a = _array("pad", x, "array")
    widths = onp.broadcast_to(onp.asarray(pad_width), (a.ndim, 2)).tolist()
    check_options(mode, kwargs)
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
