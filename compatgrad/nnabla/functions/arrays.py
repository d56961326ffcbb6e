"""Shapes: reordering, joining, cutting, repeating and padding arrays, and the ends of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis, check_same_shape
from compatgrad.nnabla.functions.create import constant

__all__ = [
    "assign",
    "broadcast",
    "broadcast_to",
    "concatenate",
    "flip",
    "matrix_diag",
    "matrix_diag_part",
    "meshgrid",
    "pad",
    "reshape",
    "shift",
    "sink",
    "split",
    "stack",
    "tile",
    "transpose",
    "trilu",
    "unlink",
]


def _product(shape: Sequence[int]) -> int:
    r = 1
    for n in shape:
        r *= n
    return r


@function("Reshape", "x", primitive=True)
def reshape(x: Any, shape: Sequence[int], inplace: bool = True) -> Any:
    """x's elements in C order with another shape.

    shape: lengths, of which one may be negative: it follows from the others. inplace: the result shares x's memory.
    RuntimeError where the number of elements differs.
    """
    shape, size = [int(n) for n in shape], _product(x.shape)
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if len(unknown) > 1:
        raise RuntimeError(f"reshape: only one size in shape may be negative. Axes {unknown[0]} and {unknown[1]} are.")
    if unknown:
        rest = _product([n for n in shape if n >= 0])
        shape[unknown[0]] = size // rest if rest else 0
    if _product(shape) != size:
        raise RuntimeError(
            "reshape: the sizes of input and output differ. "
            f"Inputs: {size} {tuple(x.shape)} != outputs: {_product(shape)} {tuple(shape)}."
        )
    if unknown and size:
        shape[unknown[0]] = -1  # an input that gets another shape later finds its place
    return op.reshape(x, shape=shape)


@function("Transpose", "x", primitive=True)
def transpose(x: Any, axes: Sequence[int]) -> Any:
    """x with its axes in the order `axes`. RuntimeError unless `axes` names each axis once."""
    if len(axes) != x.ndim:
        raise RuntimeError(
            f"transpose: axes must name every axis of x once. Given {len(axes)} ({tuple(axes)}) != {x.ndim}."
        )
    order = [check_axis("transpose", int(a), x.ndim) for a in axes]
    if len(set(order)) != len(order):
        raise RuntimeError(f"transpose: axes duplicated: {tuple(axes)}.")
    return op.transpose(x, axes=order)


def _last_axis(*x: Any) -> int:
    return x[0].ndim - 1


@function("Concatenate", "*x", primitive=True, defaults={"axis": _last_axis})
def concatenate(*x: Any, axis: int | None = None) -> Any:
    """Arrays joined along an axis (the last if None).

    Their shapes must agree on all other axes. RuntimeError otherwise, AssertionError without any array.
    """
    first = x[0]
    axis = check_axis("concatenate", first.ndim - 1 if axis is None else axis, first.ndim)
    for i, a in enumerate(x[1:], 1):
        same = a.ndim == first.ndim and all(
            m == n or k == axis for k, (m, n) in enumerate(zip(a.shape, first.shape, strict=True))
        )
        if not same:
            raise RuntimeError(
                "concatenate: dimensions of inputs must match except on axis "
                f"{axis}. inputs[{i}]: {tuple(a.shape)} != inputs[0]: {tuple(first.shape)}."
            )
    return op.concat(list(x), axis=axis)


@function("Split", "x", primitive=True)
def _split(x: Any, axis: int = 0) -> Any:
    return op.unstack(x, axis=check_axis("split", axis, x.ndim))


def split(x: Any, axis: int = 0) -> Any:
    """All slices of x along an axis, which they lose: a tuple of x.shape[axis] arrays. RuntimeError for empty ones."""
    axis = check_axis("split", axis, x.ndim)
    if 0 in x.shape:
        raise RuntimeError(f"split: x must not be empty, but has shape {tuple(x.shape)}.")
    return _split(x, axis, n_outputs=x.shape[axis])


@function("Stack", "*x", primitive=True)
def stack(*x: Any, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis. RuntimeError where shapes differ."""
    axis = check_axis("stack", axis or 0, x[0].ndim + 1)
    for i, a in enumerate(x[1:], 1):
        if tuple(a.shape) != tuple(x[0].shape):
            raise RuntimeError(
                "stack: the inputs differ in shape. "
                f"inputs[{i}] shape: {tuple(a.shape)} != inputs[0] shape: {tuple(x[0].shape)}."
            )
    return op.stack(list(x), axis=axis)


@function("Broadcast", "x", primitive=True)
def broadcast(x: Any, shape: Sequence[int]) -> Any:
    """x repeated along axes of length 1, and new axes before its first, to `shape`. RuntimeError if it does not fit."""
    shape, lead = [int(n) for n in shape], len(shape) - x.ndim
    if lead < 0 or any(m not in (1, n) for m, n in zip(x.shape, shape[lead:], strict=True)):
        raise RuntimeError(
            "broadcast: the last lengths of x must be 1 or those of shape. "
            f"Input shape = {tuple(x.shape)}, target shape = {tuple(shape)}."
        )
    return op.broadcast_to(x, shape=shape)


@function("BroadcastTo", "x, y")
def broadcast_to(x: Any, y: Any, axis: int = -1) -> Any:
    """y repeated to x's shape: its axes are x's last ones, or those from `axis` on.

    RuntimeError where lengths differ there. x gets no gradient.
    """
    n, m = x.ndim, y.ndim
    axis = -1 if axis is None else axis
    first = n - m if axis < 0 else axis
    if m > n or first + m > n or tuple(x.shape[first : first + m]) != tuple(y.shape):
        raise RuntimeError(
            f"broadcast_to: y's shape {tuple(y.shape)} does not fit x's shape {tuple(x.shape)} from axis {first} on."
        )
    y = op.reshape(y, shape=(*(1,) * first, *y.shape, *(1,) * (n - m - first)))
    return op.broadcast_to(y, shape=x.shape)


@function("Tile", "x", primitive=True)
def _tile(x: Any, reps: Sequence[int]) -> Any:
    if any(r < 1 for r in reps):
        raise RuntimeError(f"tile: no repetition may be less than 1, but reps is {tuple(reps)}.")
    return op.tile(x, reps=list(reps))


def tile(x: Any, reps: int | Sequence[int]) -> Any:
    """x repeated reps[i] times along axis i, counted from the last one; new axes come before x's."""
    return _tile(x, [reps] if isinstance(reps, int) else reps)


@function("Flip", "x", primitive=True, defaults={"axes": lambda x: [x.ndim - 1]})
def flip(x: Any, axes: Sequence[int] | None = None) -> Any:
    """x with the order of elements reversed along axes (the last if None)."""
    axes = [x.ndim - 1] if axes is None else axes
    return op.flip(x, axis=list(dict.fromkeys(check_axis("flip", a, x.ndim) for a in axes)))


@function("Shift", "x", primitive=True, defaults={"shifts": lambda x: [0] * x.ndim})
def shift(x: Any, shifts: Sequence[int] | None = None, border_mode: str = "nearest") -> Any:
    """x moved by shifts[i] elements along its last axes.

    What moves in is the element at the edge (border_mode "nearest"), or the elements mirrored at it ("reflect").
    """
    moves = [] if shifts is None else list(shifts)
    mode = "symmetric" if border_mode == "reflect" else "repeat"
    return op.edges(x, before=moves, after=[-m for m in moves], mode=mode)


def _pad_widths(pad_width: Sequence[int], x: Any, mode: str) -> list[int]:
    """Widths before and after each of the last axes; RuntimeError where they do not make sense."""
    widths = [int(w) for w in pad_width]
    if mode not in ("constant", "reflect", "repeat"):
        raise RuntimeError(f"pad: unsupported pad mode '{mode}'; there are 'constant', 'reflect' and 'repeat'.")
    if len(widths) % 2:
        raise RuntimeError(f"pad: pad_width must have an even number of lengths, not {tuple(widths)}.")
    if len(widths) > 2 * x.ndim:
        raise RuntimeError(
            f"pad: pad_width has more values ({len(widths)}) than allowed by input dimensions (shape {tuple(x.shape)})."
        )
    if any(w < 0 for w in widths):
        raise RuntimeError(f"pad: no pad_width may be negative, but they are {tuple(widths)}.")
    return widths


@function("Pad", "x", primitive=True)
def pad(x: Any, pad_width: Sequence[int], mode: str = "constant", constant_value: float = 0) -> Any:
    """x with elements added at the edges of its last axes.

    pad_width: how many (before, after) each of them, one after the other; mode: "constant" adds `constant_value`,
    "reflect" mirrors without the edge itself, "repeat" repeats the edge. RuntimeError for anything else.
    """
    mode = mode or "constant"
    widths = _pad_widths(pad_width, x, mode)
    if mode == "constant":
        return op.pad(x, pad_width=widths, value=constant_value or 0.0)
    return op.edges(x, before=widths[::2], after=widths[1::2], mode=mode)


@function("Meshgrid", "*x")
def _meshgrid(*x: Any, ij_indexing: bool = False) -> Any:
    n = len(x)
    for i, a in enumerate(x):
        if a.ndim != 1:
            raise RuntimeError(f"meshgrid: input {i} is not a rank 1 array, but has shape {tuple(a.shape)}.")
    place = list(range(n))
    if n > 1 and not ij_indexing:
        place[:2] = [1, 0]
    shape = [0] * n
    for i, a in enumerate(x):
        shape[place[i]] = a.shape[0]
    return tuple(
        op.broadcast_to(op.reshape(a, shape=[-1 if k == place[i] else 1 for k in range(n)]), shape=shape)
        for i, a in enumerate(x)
    )


def meshgrid(*x: Any, ij_indexing: bool = False) -> Any:
    """Coordinates of a grid: for each of the vectors an array over all their combinations.

    The first two axes are those of the second and the first vector, unless `ij_indexing`.
    """
    return _meshgrid(*x, ij_indexing=ij_indexing, n_outputs=len(x))


@function("MatrixDiag", "x")
def matrix_diag(x: Any) -> Any:
    """Square matrices with the last axis of x on their diagonals: (..., n) gives (..., n, n)."""
    return op.diagonal_grad(x, shape=(*x.shape, x.shape[-1]), axis1=-2, axis2=-1)


@function("MatrixDiagPart", "x", primitive=True)
def matrix_diag_part(x: Any) -> Any:
    """The diagonals of square matrices: (..., n, n) gives (..., n). RuntimeError for other shapes."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"matrix_diag_part: the last two dimensions must be the same, but x has shape {tuple(x.shape)}."
        )
    return op.diagonal(x, axis1=-2, axis2=-1)


@function("Trilu", "x", primitive=True)
def trilu(x: Any, k: int = 0, upper: bool = True) -> Any:
    """The triangle of matrices on and above (`upper`) or below the k-th diagonal, zeros elsewhere."""
    if x.ndim < 2:
        raise RuntimeError(f"trilu: input must have at least 2 dimensions, not the shape {tuple(x.shape)}.")
    return (op.triu if upper is None or upper else op.tril)(x, k=k or 0)


@function("Unlink", "x", primitive=True)
def unlink(x: Any) -> Any:
    """x, sharing its memory; no gradient passes."""
    return op.unlink(x)


class _Sink:
    """A function whose inputs only matter as such: its result is a scalar 0.

    `one_input_grad`: backward gives every input ones; otherwise their gradients stay what a user made them.
    """

    on_arrays, saves, integers, keeps_gradients = 1, 0, 0, 1

    def __init__(self, spec: Any, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int) -> None:
        (self.ones,) = args

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [()]

    def forward(self, inputs: Any, outputs: Any) -> None:
        outputs[0][0].zero()

    def backward(self, inputs: Any, outputs: Any, wanted: list[bool], accumulate: list[bool]) -> None:
        for (_, grad), want, more in zip(inputs, wanted, accumulate, strict=True):
            if want and self.ones:
                if more:
                    grad.tensor += 1
                else:
                    grad.fill(1)

    def gradient(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[Any]:
        return [constant(1.0, x.shape) if w and self.ones else None for x, w in zip(inputs, wanted, strict=True)]


@function("Sink", "*x", host=_Sink)
def sink(*x: Any, one_input_grad: bool = True) -> Any:
    """An output of shape () that runs the graphs of all its inputs, forward and backward, at once.

    Its backward gives every input a gradient of ones, or (`one_input_grad=False`) takes those that are set on them.
    """
    return op.sink(list(x))


@function("Assign", "dst, src", primitive=True, effects=True)
def assign(dst: Any, src: Any) -> Any:
    """Writes src's data into dst when it runs, and gives a copy of it; the gradient goes to dst alone."""
    check_same_shape("assign", dst, src)
    return op.assign(dst, src)
