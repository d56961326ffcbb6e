"""Functions that reorder, join, split, repeat and pad arrays, and functions that end a graph."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions._checks import check_axis, check_joined, check_same_shape
from compatgrad.nnabla.functions._sink import Sink

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

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


@function("Reshape", "x", primitive=True)
def reshape(x: Array, shape: Sequence[int], inplace: bool = True) -> Array:
    """The elements in C order, with another shape.

    Args:
        x: any shape.
        shape: the lengths of the axes, of which one may be negative and is computed from the others.
        inplace: whether the result shares the memory of `x`.

    Returns:
        Array of `shape`.

    Raises:
        RuntimeError: the numbers of elements differ, or two lengths are negative.

    Example:
        >>> F.reshape(nn.NdArray.from_numpy_array(np.arange(6.0)), (2, -1)).data
        array([[0., 1., 2.],
               [3., 4., 5.]], dtype=float32)
    """
    shape, size = [int(n) for n in shape], prod(x.shape)
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if len(unknown) > 1:
        raise RuntimeError(f"reshape: only one size in shape may be negative. Axes {unknown[0]} and {unknown[1]} are.")
    if unknown:
        rest = prod([n for n in shape if n >= 0])
        shape[unknown[0]] = size // rest if rest else 0
    if prod(shape) != size:
        raise RuntimeError(
            "reshape: the sizes of input and output differ. "
            f"Inputs: {size} {tuple(x.shape)} != outputs: {prod(shape)} {tuple(shape)}."
        )
    if unknown and size:
        shape[unknown[0]] = -1  # so that the function still works when the input is given another shape
    return op.reshape(x, shape=shape)


@function("Transpose", "x", primitive=True)
def transpose(x: Array, axes: Sequence[int]) -> Array:
    """The axes in another order.

    Args:
        x: any shape.
        axes: the axes of `x` in their new order, negative ones counted from the last.

    Returns:
        Array of shape (x.shape[axes[0]], x.shape[axes[1]], ...).

    Raises:
        RuntimeError: `axes` does not name each axis once.

    Example:
        >>> F.transpose(nn.NdArray((2, 3, 5)), (2, 0, 1)).shape
        (5, 2, 3)
    """
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
def concatenate(*x: Array, axis: int | None = None) -> Array:
    """Arrays joined along an axis.

    Args:
        *x: arrays whose shapes agree on all other axes.
        axis: the axis, negative ones counted from the last; None for the last.

    Returns:
        Array of the lengths of the inputs, and their sum along the axis.

    Raises:
        AssertionError: there is no input.
        RuntimeError: the shapes do not agree, or the inputs do not have the axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0]]))
        >>> F.concatenate(x, x, axis=0).data
        array([[1., 2.],
               [1., 2.]], dtype=float32)
    """
    return op.concat(list(x), axis=check_joined("concatenate", x, axis))


@function("Split", "x", primitive=True)
def _split(x: Any, axis: int = 0) -> Any:
    return op.unstack(x, axis=check_axis("split", axis, x.ndim))


@documented()
def split(x: Array, axis: int = 0) -> tuple[Array, ...] | Array:
    """All slices along an axis, without that axis.

    Args:
        x: any shape without a length of 0.
        axis: the axis, negative ones counted from the last.

    Returns:
        x.shape[axis] arrays; a single array is returned without a tuple.

    Raises:
        RuntimeError: `x` does not have the axis, or a length is 0.

    Example:
        >>> rows = F.split(nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3)))
        >>> [row.data for row in rows]
        [array([0., 1., 2.], dtype=float32), array([3., 4., 5.], dtype=float32)]
    """
    try:
        axis = check_axis("split", axis, x.ndim)
    except RuntimeError as e:
        raise IndexError(str(e)) from None  # nnabla's, which looks for the number of results in the shape
    if 0 in x.shape:
        raise RuntimeError(f"split: x must not be empty, but has shape {tuple(x.shape)}.")
    return _split(x, axis, n_outputs=x.shape[axis])


@function("Stack", "*x", primitive=True)
def stack(*x: Array, axis: int = 0) -> Array:
    """Arrays joined along a new axis.

    Args:
        *x: arrays of one shape.
        axis: the position of the new axis in the result; negative ones are counted from the last axis of the result.

    Returns:
        Array with one more axis, whose length is the number of inputs.

    Raises:
        AssertionError: there is no input.
        RuntimeError: the shapes differ, or the result would not have the axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([1.0, 2.0]))
        >>> F.stack(x, x, axis=1).data
        array([[1., 1.],
               [2., 2.]], dtype=float32)
    """
    axis = check_axis("stack", axis or 0, x[0].ndim + 1)
    for i, a in enumerate(x[1:], 1):
        if tuple(a.shape) != tuple(x[0].shape):
            raise RuntimeError(
                "stack: the inputs differ in shape. "
                f"inputs[{i}] shape: {tuple(a.shape)} != inputs[0] shape: {tuple(x[0].shape)}."
            )
    return op.stack(list(x), axis=axis)


@function("Broadcast", "x", primitive=True)
def broadcast(x: Array, shape: Sequence[int]) -> Array:
    """Elements repeated along axes of length 1, and along new axes before the first.

    Args:
        x: any shape.
        shape: the shape of the result, of at least as many axes.

    Returns:
        Array of `shape`.

    Raises:
        RuntimeError: a length is neither 1 nor that of `shape`.

    Example:
        >>> F.broadcast(nn.NdArray.from_numpy_array(np.array([[1.0], [2.0]])), (2, 3)).data
        array([[1., 1., 1.],
               [2., 2., 2.]], dtype=float32)
    """
    shape, lead = [int(n) for n in shape], len(shape) - x.ndim
    if lead < 0 or any(m not in (1, n) for m, n in zip(x.shape, shape[lead:], strict=True)):
        raise RuntimeError(
            "broadcast: the last lengths of x must be 1 or those of shape. "
            f"Input shape = {tuple(x.shape)}, target shape = {tuple(shape)}."
        )
    return op.broadcast_to(x, shape=shape)


@function("BroadcastTo", "x, y")
def broadcast_to(x: Array, y: Any, axis: int = -1) -> Array:
    """`y` broadcast to the shape of `x`: the axes of `y` are those of `x` from `axis` on.

    Args:
        x: only its shape is used; it gets no gradient.
        y: an array of the lengths of x's axes from `axis` on.
        axis: the first of these axes; -1 where they are the last axes of `x`.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: the lengths differ.

    Example:
        >>> y = nn.NdArray.from_numpy_array(np.array([1.0, 2.0]))
        >>> F.broadcast_to(nn.NdArray((2, 3)), y, axis=0).data
        array([[1., 1., 1.],
               [2., 2., 2.]], dtype=float32)
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


@documented()
def tile(x: Array, reps: int | Sequence[int]) -> Array:
    """An array repeated along its axes.

    Args:
        x: any shape.
        reps: number of repetitions along each axis; a single number applies to the last axis. More numbers than axes
            add axes in front.

    Returns:
        Array of the lengths of `x` times `reps`.

    Raises:
        RuntimeError: a number is less than 1.

    Example:
        >>> F.tile(nn.NdArray.from_numpy_array(np.array([1.0, 2.0])), (2, 2)).data
        array([[1., 2., 1., 2.],
               [1., 2., 1., 2.]], dtype=float32)
    """
    return _tile(x, [reps] if isinstance(reps, int) else reps)


@function("Flip", "x", primitive=True, defaults={"axes": lambda x: [x.ndim - 1]})
def flip(x: Array, axes: Sequence[int] | None = None) -> Array:
    """Reverses the order of elements along axes.

    Args:
        x: any shape.
        axes: the axes, negative ones counted from the last; None for the last.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `x` does not have an axis.

    Example:
        >>> F.flip(nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3)), axes=(0, 1)).data
        array([[5., 4., 3.],
               [2., 1., 0.]], dtype=float32)
    """
    axes = [x.ndim - 1] if axes is None else axes
    return op.flip(x, axis=list(dict.fromkeys(check_axis("flip", a, x.ndim) for a in axes)))


@function("Shift", "x", primitive=True, defaults={"shifts": lambda x: [0] * x.ndim})
def shift(x: Array, shifts: Sequence[int] | None = None, border_mode: str = "nearest") -> Array:
    """Elements moved along the last axes.

    Args:
        x: any shape.
        shifts: number of elements by which to move along each of the last axes, towards the start where negative; None:
            0.
        border_mode: the elements that move in: "nearest", the element at the edge, or "reflect", the elements mirrored
            at the edge.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: there are more shifts than axes.

    Example:
        >>> F.shift(nn.NdArray.from_numpy_array(np.array([[1.0, 2.0, 3.0]])), shifts=(0, 1)).data
        array([[1., 1., 2.]], dtype=float32)
    """
    moves = [] if shifts is None else list(shifts)
    if len(moves) > x.ndim:
        raise RuntimeError(f"shift: {len(moves)} shifts were given for x of shape {tuple(x.shape)}.")
    mode = "symmetric" if border_mode == "reflect" else "repeat"
    return op.edges(x, before=moves, after=[-m for m in moves], mode=mode)


def _pad_widths(pad_width: Sequence[int], x: Any, mode: str) -> list[int]:
    """Pairs of widths before and after each of the last axes; raises RuntimeError for invalid widths."""
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
def pad(x: Array, pad_width: Sequence[int], mode: str = "constant", constant_value: float = 0) -> Array:
    """Adds elements at both ends of the last axes.

    Args:
        x: any shape.
        pad_width: numbers of elements before and after each of the last axes, (before, after, before, after, ...).
        mode: "constant" adds `constant_value`, "reflect" mirrors without the edge itself, "repeat" repeats the edge.
        constant_value: the value that "constant" adds.

    Returns:
        Array; each length is that of `x` plus the widths.

    Raises:
        RuntimeError: the mode is unknown, or the number of widths is odd or too large, or one is negative.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 2.0, 3.0]]))
        >>> F.pad(x, (1, 0, 0, 1), constant_value=9).data
        array([[9., 9., 9., 9.],
               [1., 2., 3., 9.]], dtype=float32)
        >>> F.pad(x, (2, 1), mode="reflect").data
        array([[3., 2., 1., 2., 3., 2.]], dtype=float32)
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


@documented()
def meshgrid(*x: Array, ij_indexing: bool = False) -> tuple[Array, ...] | Array:
    """The coordinates of a grid: for each vector an array over all combinations.

    Args:
        *x: arrays of one axis.
        ij_indexing: whether the axes of the results are in the order of the vectors; otherwise the first two axes are
            those of the second and of the first vector.

    Returns:
        An array for each vector, of as many axes as there are vectors.

    Raises:
        AssertionError: there is no input.
        RuntimeError: an input does not have one axis.

    Example:
        >>> x, y = (nn.NdArray.from_numpy_array(np.arange(n)) for n in (2.0, 3.0))
        >>> [v.data for v in F.meshgrid(x, y)]
        [array([[0., 1.],
               [0., 1.],
               [0., 1.]], dtype=float32), array([[0., 0.],
               [1., 1.],
               [2., 2.]], dtype=float32)]
    """
    return _meshgrid(*x, ij_indexing=ij_indexing, n_outputs=len(x))


@function("MatrixDiag", "x")
def matrix_diag(x: Array) -> Array:
    """Square matrices with the last axis of an array on their diagonals, zeros elsewhere.

    Args:
        x: any shape (..., n) of at least one axis.

    Returns:
        Array (..., n, n).

    Raises:
        RuntimeError: `x` has no axes.

    Example:
        >>> F.matrix_diag(nn.NdArray.from_numpy_array(np.array([1.0, 2.0]))).data
        array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    if x.ndim < 1:
        raise RuntimeError("matrix_diag: x must have at least one axis.")
    return op.diagonal_grad(x, shape=(*x.shape, x.shape[-1]), axis1=-2, axis2=-1)


@function("MatrixDiagPart", "x", primitive=True)
def matrix_diag_part(x: Array) -> Array:
    """The diagonals of square matrices.

    Args:
        x: (..., n, n).

    Returns:
        Array (..., n).

    Raises:
        RuntimeError: the last two lengths differ.

    Example:
        >>> F.matrix_diag_part(nn.NdArray.from_numpy_array(np.arange(4.0).reshape(2, 2))).data
        array([0., 3.], dtype=float32)
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"matrix_diag_part: the last two dimensions must be the same, but x has shape {tuple(x.shape)}."
        )
    return op.diagonal(x, axis1=-2, axis2=-1)


@function("Trilu", "x", primitive=True)
def trilu(x: Array, k: int = 0, upper: bool = True) -> Array:
    """The triangles of matrices, and zeros elsewhere.

    Args:
        x: (..., n, m).
        k: the diagonal at which the triangle ends: 0 is the main one, positive ones lie above it, negative ones below.
        upper: whether to keep the triangle on and above that diagonal, instead of the one on and below it.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `x` has fewer than two axes.

    Example:
        >>> F.trilu(nn.NdArray.from_numpy_array(np.ones((2, 3))), k=1).data
        array([[0., 1., 1.],
               [0., 0., 1.]], dtype=float32)
    """
    if x.ndim < 2:
        raise RuntimeError(f"trilu: input must have at least 2 dimensions, not the shape {tuple(x.shape)}.")
    return (op.triu if upper is None or upper else op.tril)(x, k=k or 0)


@function("Unlink", "x", primitive=True)
def unlink(x: Array) -> Array:
    """The array itself, with the same memory, without a gradient: the backward pass ends here.

    Args:
        x: any shape.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([1.0, 2.0]), need_grad=True)
        >>> y = F.sum(x * F.unlink(x))
        >>> y.forward()
        >>> y.backward()
        >>> x.g
        array([1., 2.], dtype=float32)
    """
    return op.unlink(x)


@function("Sink", "*x", host=Sink)
def sink(*x: Array, one_input_grad: bool = True) -> Array:
    """One result for several graphs: its `forward` and `backward` run those of all inputs.

    Args:
        *x: any shapes.
        one_input_grad: whether `backward` sets the gradient of every input to ones; otherwise it starts from the
            inputs' own gradients.

    Returns:
        Array of shape ().

    Raises:
        AssertionError: there is no input.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([1.0, 2.0]), need_grad=True)
        >>> y = F.sink(F.sum(x), 3 * x)
        >>> y.forward()
        >>> y.backward()
        >>> x.g
        array([4., 4.], dtype=float32)
    """
    return op.sink(list(x))


@function("Assign", "dst, src", primitive=True, effects=True)
def assign(dst: Array, src: Array) -> Array:
    """Writes one array into another when it runs. Only `dst` gets a gradient.

    Args:
        dst: the array to write into.
        src: the values, of the shape of `dst`.

    Returns:
        Array with a copy of the values.

    Raises:
        RuntimeError: the shapes differ.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.zeros(2))
        >>> y = F.assign(x, nn.NdArray.from_numpy_array(np.array([1.0, 2.0])))
        >>> x.data
        array([1., 2.], dtype=float32)
    """
    check_same_shape("assign", dst, src)
    return op.assign(dst, src)
