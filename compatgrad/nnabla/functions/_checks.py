"""Checks that several functions share. They raise RuntimeError, as nnabla does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_broadcast(name: str, x0: Any, x1: Any) -> None:
    """Checks nnabla's rule of broadcasting: the same number of axes, and lengths that are equal or 1."""
    a, b = x0.shape, x1.shape
    if a == b:
        return
    if len(a) != len(b):
        raise RuntimeError(
            f"{name}: dimensions of inputs must match. inputs[0]: {len(a)} axes {tuple(a)} != "
            f"inputs[1]: {len(b)} axes {tuple(b)}."
        )
    for i, (m, n) in enumerate(zip(a, b, strict=True)):
        if m != n and min(m, n) != 1:
            raise RuntimeError(
                f"{name}: the broadcast dimension must be one. shape[{i}]: {m} and {n} "
                f"of inputs of shape {tuple(a)} and {tuple(b)}."
            )


def check_same_shape(name: str, x0: Any, x1: Any) -> None:
    if tuple(x0.shape) != tuple(x1.shape):
        raise RuntimeError(
            f"{name}: dimensions of inputs must match. inputs[0]: {tuple(x0.shape)} != inputs[1]: {tuple(x1.shape)}."
        )


def check_axis(name: str, axis: int, ndim: int, what: str = "axis") -> int:
    """Checks an axis and returns it counted from the front."""
    if isinstance(axis, str):
        raise TypeError(f"{name}: {what}: an integer is required, got {axis!r}")
    axis = int(axis)
    if not -ndim <= axis < ndim:
        raise RuntimeError(f"{name}: {what} must be in the range of [-ndim, ndim). {what}: {axis}, ndim: {ndim}.")
    return axis + ndim if axis < 0 else axis


def check_joined(name: str, xs: Sequence[Any], axis: int | None) -> int:
    """Returns an axis counted from the front (None: the last); the inputs must agree on all others."""
    first = xs[0].shape
    axis = check_axis(name, len(first) - 1 if axis is None else axis, len(first))
    for i, x in enumerate(xs):
        shape = x.shape
        if len(shape) != len(first) or shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            raise RuntimeError(
                f"{name}: dimensions of inputs must match except on axis "
                f"{axis}. inputs[{i}]: {tuple(shape)} != inputs[0]: {tuple(first)}."
            )
    return axis


def check_label(name: str, x: Any, target: Any, axis: int | None) -> int:
    """Returns the class axis of x counted from the front (None: the last); the target must have length 1 along it."""
    axis = check_axis(name, x.ndim - 1 if axis is None else axis, x.ndim)
    if target.ndim != x.ndim:
        raise RuntimeError(
            f"{name}: the inputs must have equally many axes. "
            f"inputs[1] length: {target.ndim} != inputs[0] length: {x.ndim}."
        )
    shape, labels = x.shape, target.shape
    if labels[axis] == 1 and labels[:axis] == shape[:axis] and labels[axis + 1 :] == shape[axis + 1 :]:
        return axis
    for i, (n, t) in enumerate(zip(shape, labels, strict=True)):
        if i == axis and t != 1:
            raise RuntimeError(f"{name}: the dimension of axis {axis} of inputs[1] must be 1, not {t}.")
        if i != axis and n != t:
            raise RuntimeError(
                f"{name}: dimensions of inputs must match except axis {axis}. inputs[1]: "
                f"{tuple(target.shape)}, inputs[0]: {tuple(x.shape)}."
            )
    return axis


def several(name: str, value: Any, of: str = "integers") -> tuple:
    """`value` as a tuple. Raises TypeError with the name of the argument for a single number."""
    try:
        return tuple(value)
    except TypeError:
        raise TypeError(f"{name} must be a tuple of {of}, not {value!r}") from None
