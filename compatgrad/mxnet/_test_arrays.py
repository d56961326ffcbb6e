"""Random shapes and arrays, dense and sparse, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.random as rnd

from . import ndarray as nd
from ._tolerances import default_dtype
from .context import Context
from .ndarray import NDArray

__all__ = [
    "assign_each",
    "assign_each2",
    "create_2d_tensor",
    "create_sparse_array",
    "create_sparse_array_zd",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "rand_sparse_ndarray",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape.

    Args:
        num_dim: number of dimensions.
        dim: the longest length of each.
        allow_zero_size: the shortest length is 0 instead of 1.

    Returns:
        The shape, a tuple.

    Raises:
        ValueError: `num_dim` is negative, or `dim` below the shortest length.

    Example:
        >>> len(mx.test_utils.rand_shape_nd(4, dim=3))
        4

    Source: `mxnet.test_utils.rand_shape_nd` of MXNet 1.9.1.
    """
    return tuple(rnd.randint(0 if allow_zero_size else 1, dim + 1, size=num_dim))


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of two dimensions.

    Args:
        dim0, dim1: the longest length of each.
        allow_zero_size: the shortest length is 0 instead of 1.

    Returns:
        The shape, a tuple.

    Raises:
        ValueError: a longest length is below the shortest.

    Example:
        >>> mx.test_utils.rand_shape_2d(1, 1)
        (1, 1)

    Source: `mxnet.test_utils.rand_shape_2d` of MXNet 1.9.1.
    """
    return tuple(rnd.randint(0 if allow_zero_size else 1, d + 1) for d in (dim0, dim1))


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A random shape of three dimensions.

    Args:
        dim0, dim1, dim2: the longest length of each.
        allow_zero_size: the shortest length is 0 instead of 1.

    Returns:
        The shape, a tuple.

    Raises:
        ValueError: a longest length is below the shortest.

    Example:
        >>> mx.test_utils.rand_shape_3d(1, 1, 1)
        (1, 1, 1)

    Source: `mxnet.test_utils.rand_shape_3d` of MXNet 1.9.1.
    """
    return tuple(rnd.randint(0 if allow_zero_size else 1, d + 1) for d in (dim0, dim1, dim2))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random point with whole coordinates in a rectangle.

    Args:
        x_low, x_high: range of the first coordinate, `x_high` excluded.
        y_low, y_high: range of the second coordinate, `y_high` excluded.

    Returns:
        The two coordinates.

    Raises:
        ValueError: a range is empty.

    Example:
        >>> x, y = mx.test_utils.rand_coord_2d(0, 3, 5, 7)
        >>> int(x) in range(3), int(y) in range(5, 7)
        (True, True)

    Source: `mxnet.test_utils.rand_coord_2d` of MXNet 1.9.1.
    """
    return rnd.randint(x_low, x_high, dtype=np.int64), rnd.randint(y_low, y_high, dtype=np.int64)


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """NumPy arrays of normally distributed numbers.

    Args:
        *shapes: the shapes, tuples.

    Returns:
        A float32 array for one shape, else a list of them.

    Raises:
        TypeError: a shape is no tuple.

    Example:
        >>> [x.shape for x in mx.test_utils.random_arrays((2,), (3, 4))]
        [(2,), (3, 4)]

    Source: `mxnet.test_utils.random_arrays` of MXNet 1.9.1.
    """
    arrays = [np.asarray(rnd.randn(*s), dtype=default_dtype()) for s in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: tuple[int, ...], **kwargs: Any) -> list[np.ndarray]:
    """NumPy arrays of uniformly distributed numbers.

    Args:
        *shapes: the shapes, tuples.
        **kwargs: `low` and `high`, 0 and 1 unless given, the latter excluded; `dtype`, float32 unless given.

    Returns:
        A list of arrays.

    Raises:
        TypeError: there is another keyword argument.

    Example:
        >>> (x,) = mx.test_utils.random_uniform_arrays((2, 3), low=5, high=6)
        >>> x.shape, bool((5 <= x).all())
        ((2, 3), True)

    Source: `mxnet.test_utils.random_uniform_arrays` of MXNet 1.9.1.
    """
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise TypeError(f"random_uniform_arrays: unexpected arguments {list(kwargs)}")
    return [rnd.uniform(low, high, size=s).astype(dtype) for s in shapes]


def random_sample(population: Sequence[Any], k: int) -> Sequence[Any]:
    """Different members of a list, in random order.

    Args:
        population: the list.
        k: how many.

    Returns:
        A list.

    Raises:
        AssertionError: `k` is negative or more than there are.

    Example:
        >>> sorted(mx.test_utils.random_sample([1, 2, 3], 3))
        [1, 2, 3]

    Source: `mxnet.test_utils.random_sample` of MXNet 1.9.1.
    """
    assert 0 <= k <= len(population), f"random_sample: k must be in 0..{len(population)}, not {k}"
    shuffled = population[:]
    rnd.shuffle(shuffled)
    return shuffled[:k]


def assign_each(the_input: np.ndarray, function: Callable[[Any], Any] | None) -> np.ndarray:
    """Applies a function to each element of an array.

    Args:
        the_input: the array.
        function: the function of a number; None copies.

    Returns:
        A float64 array; a copy has the dtype of `the_input`.

    Raises:
        TypeError: `function` is not callable.

    Example:
        >>> mx.test_utils.assign_each(np.array([1, 2]), lambda x: x / 2)
        array([0.5, 1. ])

    Source: `mxnet.test_utils.assign_each` of MXNet 1.9.1.
    """
    return np.array(the_input) if function is None else np.vectorize(function, otypes=[np.float64])(the_input)


def assign_each2(input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None) -> np.ndarray:
    """Applies a function to each pair of elements of two arrays.

    Args:
        input1, input2: the arrays, of one shape.
        function: the function of two numbers; None copies `input1`.

    Returns:
        A float64 array; a copy has the dtype of `input1`.

    Raises:
        AssertionError: the shapes differ.
        TypeError: `function` is not callable.

    Example:
        >>> mx.test_utils.assign_each2(np.array([1, 2]), np.array([3, 5]), max)
        array([3., 5.])

    Source: `mxnet.test_utils.assign_each2` of MXNet 1.9.1.
    """
    if function is None:
        return np.array(input1)
    assert input1.shape == input2.shape, f"assign_each2: shapes {input1.shape} and {input2.shape} differ"
    return np.vectorize(function, otypes=[np.float64])(input1, input2)


def _powerlaw(shape: tuple[int, int], density: float, dtype: Any) -> np.ndarray:
    """Every row has a first element; then rows get 1, 3, 7, … more in turn until the density is reached."""
    rows, cols = shape
    left = int(rows * cols * density)
    if left < 2 * rows:
        raise ValueError(f"density {density} is too small for shape {shape}: rows * cols * density < 2 * rows")
    out = np.zeros(shape, dtype=dtype)
    out[:, 0] = 1 + rnd.uniform(0.001, 2, size=rows)
    left -= rows
    width = 2
    for row in range(rows):
        n = max(min(width, cols, left + 1), 1)
        out[row, 1:n] = 1 + rnd.uniform(0.001, 2, size=n - 1)
        left -= n - 1
        width *= 2
    if left > 0:
        raise ValueError(f"density {density} is too large for shape {shape} and a power law")
    return out


def rand_sparse_ndarray(
    shape: tuple[int, ...],
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[Any, tuple[Any, ...]]:
    """A random sparse array, and its parts.

    Args:
        shape: its shape; of two dimensions for "csr".
        stype: "row_sparse" or "csr".
        density: the share of rows ("row_sparse") or elements that are there, 0 to 1; None for a random one.
        dtype: its dtype; None is float32.
        distribution: where the elements are: "uniform", which None is too, or, for "csr", "powerlaw": rows hold 1, 3,
            7, … elements beside the first one.
        data_init: the value of all elements; None for random numbers between 0 and 1.
        rsp_indices: the rows that are there, for "row_sparse".
        modifier_func: function of each element, for "row_sparse".
        shuffle_csr_indices: accepted, without effect.
        ctx: its context.

    Returns:
        The array, and (values, rows) for "row_sparse" or (indptr, indices, values) for "csr".

    Raises:
        ValueError: `density` is not between 0 and 1, or does not fit a power law.
        AssertionError: `stype`, `distribution` or the shape is not one of those above.

    Example:
        >>> x, (values, rows) = mx.test_utils.rand_sparse_ndarray((4, 2), "row_sparse", rsp_indices=[1, 3])
        >>> x.indices.asnumpy(), values.shape
        (array([1, 3]), (2, 2))

    Source: `mxnet.test_utils.rand_sparse_ndarray` of MXNet 1.9.1.
    """
    density = rnd.rand() if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    distribution = distribution or "uniform"
    if not 0 <= density <= 1:
        raise ValueError(f"rand_sparse_ndarray: density must be between 0 and 1, not {density}")
    if stype == "row_sparse":
        assert distribution == "uniform", f"rand_sparse_ndarray: no distribution {distribution} for row_sparse"
        rows = np.argwhere(rnd.rand(shape[0]) < density).flatten() if rsp_indices is None else np.asarray(rsp_indices)
        assert len(rows) <= shape[0], f"rand_sparse_ndarray: {len(rows)} rows, the array has {shape[0]}"
        if not len(rows):
            return nd.zeros(shape, stype=stype, dtype=dtype, ctx=ctx), (np.array([], dtype=dtype), np.array([]))
        values = rnd.rand(len(rows), *shape[1:]).astype(dtype)
        if data_init is not None:
            values.fill(data_init)
        if modifier_func is not None:
            values = assign_each(values, modifier_func).astype(dtype)
        return nd.sparse.row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx), (values, rows)
    assert stype == "csr", f"rand_sparse_ndarray: unknown storage type {stype}"
    assert len(shape) == 2, f"rand_sparse_ndarray: csr arrays have 2 dimensions, not shape {shape}"
    if distribution == "powerlaw":
        dense = _powerlaw(shape, density, dtype)  # type: ignore[arg-type]
    else:
        assert distribution == "uniform", f"rand_sparse_ndarray: unknown distribution {distribution}"
        dense = np.zeros(shape, dtype=dtype)
        # the density determines the number of elements, as in scipy.sparse.rand
        chosen = rnd.choice(dense.size, size=int(round(dense.size * density)), replace=False)
        dense.flat[chosen] = rnd.rand(len(chosen)) if data_init is None else data_init
    csr = nd.array(dense, ctx=ctx, dtype=dtype).tostype("csr")
    return csr, (csr.indptr, csr.indices, csr.data)


def rand_ndarray(
    shape: tuple[int, ...],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """A random NDArray: dense with normally distributed numbers, or sparse.

    Args:
        shape: its shape.
        stype: "default" (dense), "row_sparse" or "csr".
        density, modifier_func, shuffle_csr_indices, distribution: of a sparse one, as in `rand_sparse_ndarray`.
        dtype: its dtype; None is float32.
        ctx: its context.

    Returns:
        The array.

    Raises:
        ValueError, AssertionError: as in `rand_sparse_ndarray`.

    Example:
        >>> mx.test_utils.rand_ndarray((2, 3), "csr", density=0.5).stype
        'csr'

    Source: `mxnet.test_utils.rand_ndarray` of MXNet 1.9.1.
    """
    if stype == "default":
        return nd.array(random_arrays(shape), dtype=dtype, ctx=ctx)
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        dtype=dtype,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        distribution=distribution,
        ctx=ctx,
    )[0]


def create_sparse_array(
    shape: tuple[int, ...],
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> Any:
    """A random sparse array.

    Args:
        shape: its shape; of two dimensions for "csr".
        stype: "row_sparse" or "csr".
        data_init: the value of all elements; None for random numbers between 0 and 1.
        rsp_indices: the rows that are there, in any order, for "row_sparse".
        dtype: its dtype; None is float32.
        modifier_func: function of each element, for "row_sparse".
        density: the share of rows or elements that are there.
        shuffle_csr_indices: accepted, without effect.

    Returns:
        The array.

    Raises:
        ValueError: `density` is not between 0 and 1.
        AssertionError: `stype` has another value, or the shape does not fit.

    Example:
        >>> mx.test_utils.create_sparse_array((3, 2), "row_sparse", data_init=2, rsp_indices=[1]).asnumpy()
        array([[0., 0.],
               [2., 2.],
               [0., 0.]], dtype=float32)

    Source: `mxnet.test_utils.create_sparse_array` of MXNet 1.9.1.
    """
    rows = None if rsp_indices is None else np.sort(np.asarray(rsp_indices))
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        data_init=data_init,
        rsp_indices=rows,
        dtype=dtype,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(shape: tuple[int, ...], stype: str, density: float, **kwargs: Any) -> Any:
    """`create_sparse_array`; a "row_sparse" array has no rows unless `rsp_indices` gives them.

    Args:
        shape: its shape.
        stype: "row_sparse" or "csr".
        density: the share of elements that are there, for "csr".
        **kwargs: other arguments of `create_sparse_array`.

    Returns:
        The array.

    Raises:
        ValueError, AssertionError: as in `create_sparse_array`.

    Example:
        >>> mx.test_utils.create_sparse_array_zd((3, 2), "row_sparse", 0.5).indices.size
        0

    Source: `mxnet.test_utils.create_sparse_array_zd` of MXNet 1.9.1.
    """
    return create_sparse_array(shape, stype, density=0.0 if stype == "row_sparse" else density, **kwargs)


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """The numbers 0, 1, …, size - 1.

    Args:
        size: how many; none for a negative number.
        dtype: their dtype.

    Returns:
        An NDArray of shape (size,).

    Raises:
        TypeError: `size` is no number.

    Example:
        >>> mx.test_utils.create_vector(3).asnumpy()
        array([0, 1, 2])

    Source: `mxnet.test_utils.create_vector` of MXNet 1.9.1.
    """
    return nd.arange(0, size, dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """A matrix whose rows are full of their numbers.

    Args:
        rows, columns: its shape.
        dtype: its dtype.

    Returns:
        An NDArray of shape (rows, columns).

    Raises:
        TypeError: `rows` is no number.

    Example:
        >>> mx.test_utils.create_2d_tensor(2, 3).asnumpy()
        array([[0, 0, 0],
               [1, 1, 1]])

    Source: `mxnet.test_utils.create_2d_tensor` of MXNet 1.9.1.
    """
    return nd.broadcast_to(nd.arange(0, rows, dtype=dtype).reshape((rows, 1)), shape=(rows, columns))


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix.

    Args:
        size: number of its rows.

    Returns:
        A float32 NDArray of shape (size, size).

    Raises:
        ValueError: `size` is negative.

    Example:
        >>> mx.test_utils.get_identity_mat(2).asnumpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)

    Source: `mxnet.test_utils.get_identity_mat` of MXNet 1.9.1.
    """
    return nd.array(np.eye(size))


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices.

    Args:
        size: number of rows of each.

    Returns:
        A float32 NDArray of shape (2, size, size).

    Raises:
        ValueError: `size` is negative.

    Example:
        >>> mx.test_utils.get_identity_mat_batch(3).shape
        (2, 3, 3)

    Source: `mxnet.test_utils.get_identity_mat_batch` of MXNet 1.9.1.
    """
    return nd.array(np.stack([np.eye(size)] * 2))
