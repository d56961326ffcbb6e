"""Helpers for tests: comparison with tolerances by dtype, random arrays, scopes, and checks of symbols.

There is no `__all__`: tests import everything with a star and count on `mx` and `np` among it.
"""

# ruff: noqa: F401
from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.random as rnd

from ._test_data import *  # noqa: F403
from ._test_files import *  # noqa: F403
from ._test_symbols import (
    check_consistency,
    check_numeric_gradient,
    check_speed,
    check_symbolic_backward,
    check_symbolic_forward,
    numeric_grad,
    same_symbol_structure,
    simple_forward,
)
from ._tolerances import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    checkShapes,
    default_atols,
    default_dtype,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
    locationError,
    same,
)
from .context import Context, current_context
from .ndarray import NDArray, array
from .runtime import Features
from .symbol import Symbol
from .util import get_cuda_compute_capability, get_gpu_count, getenv, setenv, use_np

mx = sys.modules[__name__.rpartition(".")[0]]  # the package, under whichever name it runs

del annotations
mx = sys.modules[__package__]  # type: ignore[index]


def default_context() -> Context:
    """The context that tests run on: the current one."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes `ctx` the context of everything created without one, in this thread."""
    Context._local.value = ctx


# MXNet 2's names
default_device = default_context
set_default_device = set_default_context


def list_gpus() -> range:
    """The numbers of the GPUs."""
    return range(get_gpu_count())


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """AssertionError unless `f(*args, **kwargs)` raises `exception_type`."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} raised no {exception_type}")


@contextmanager
def discard_stderr() -> Iterator[None]:
    """A scope in which what goes to standard error, also from C, is thrown away."""
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError):  # captured: it is no file
        yield
        return
    kept = os.dup(number)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), number)
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """A scope with environment variables set: `environment(name, value)` or `environment({name: value})`.

    None as a value removes the variable. What was there before comes back at the end.
    """
    if len(args) == 1 and isinstance(args[0], dict):
        wanted = args[0]
    else:
        assert len(args) == 2, "environment: expected a dict, or the name and the value of a variable"
        wanted = {args[0]: args[1]}
    before = {name: getenv(name) for name in wanted}
    try:
        for name, value in wanted.items():
            setenv(name, value)
        yield
    finally:
        for name, value in before.items():
            setenv(name, value)


def retry(n: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a test that may fail by chance: it must pass once in `n` runs."""
    assert n > 0, "retry: n must be positive"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any, **kwargs: Any) -> None:
            for left in reversed(range(n)):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    if not left:
                        raise
            return None

        run.__name__ = test.__name__
        return run

    return decorate


# ---- random shapes and arrays


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of `num_dim` dimensions of 1 (or 0) to `dim` each."""
    return tuple(rnd.randint(0 if allow_zero_size else 1, dim + 1, size=num_dim))


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of at most (dim0, dim1)."""
    return tuple(rnd.randint(0 if allow_zero_size else 1, d + 1) for d in (dim0, dim1))


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of at most (dim0, dim1, dim2)."""
    return tuple(rnd.randint(0 if allow_zero_size else 1, d + 1) for d in (dim0, dim1, dim2))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A point in the rectangle, the upper ends excluded."""
    return rnd.randint(x_low, x_high, dtype=np.int64), rnd.randint(y_low, y_high, dtype=np.int64)


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """NumPy arrays of normal numbers, float32: one for one shape, else a list."""
    arrays = [np.asarray(rnd.randn(*s), dtype=default_dtype()) for s in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: tuple[int, ...], **kwargs: Any) -> list[np.ndarray]:
    """A list of NumPy arrays of numbers in [low, high) = [0, 1), float32 unless `dtype` says otherwise."""
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise TypeError(f"random_uniform_arrays: unexpected arguments {list(kwargs)}")
    return [rnd.uniform(low, high, size=s).astype(dtype) for s in shapes]


def random_sample(population: Sequence[Any], k: int) -> Sequence[Any]:
    """`k` different members of a list, in random order."""
    assert 0 <= k <= len(population), f"random_sample: k must be in 0..{len(population)}, not {k}"
    shuffled = population[:]
    rnd.shuffle(shuffled)
    return shuffled[:k]


def assign_each(the_input: np.ndarray, function: Callable[[Any], Any] | None) -> np.ndarray:
    """`function` of each element."""
    return np.array(the_input) if function is None else np.vectorize(function, otypes=[np.float64])(the_input)


def assign_each2(input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None) -> np.ndarray:
    """`function` of each pair of elements."""
    if function is None:
        return np.array(input1)
    assert input1.shape == input2.shape, f"assign_each2: shapes {input1.shape} and {input2.shape} differ"
    return np.vectorize(function, otypes=[np.float64])(input1, input2)


def _powerlaw(shape: tuple[int, int], density: float, dtype: Any) -> np.ndarray:
    """Every row has a first element; then rows of 1, 3, 7, … more follow until the density is reached."""
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
    """A random 'row_sparse' or 'csr' array, and what it is made of: (values, rows) or (indptr, indices, values)."""
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
            return mx.nd.zeros(shape, stype=stype, dtype=dtype, ctx=ctx), (np.array([], dtype=dtype), np.array([]))
        values = rnd.rand(len(rows), *shape[1:]).astype(dtype)
        if data_init is not None:
            values.fill(data_init)
        if modifier_func is not None:
            values = assign_each(values, modifier_func).astype(dtype)
        return mx.nd.sparse.row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx), (values, rows)
    assert stype == "csr", f"rand_sparse_ndarray: unknown storage type {stype}"
    assert len(shape) == 2, f"rand_sparse_ndarray: csr arrays have 2 dimensions, not shape {shape}"
    if distribution == "powerlaw":
        dense = _powerlaw(shape, density, dtype)  # type: ignore[arg-type]
    else:
        assert distribution == "uniform", f"rand_sparse_ndarray: unknown distribution {distribution}"
        dense = np.zeros(shape, dtype=dtype)
        # as many as the density says, like scipy.sparse.rand
        chosen = rnd.choice(dense.size, size=int(round(dense.size * density)), replace=False)
        dense.flat[chosen] = rnd.rand(len(chosen)) if data_init is None else data_init
    csr = mx.nd.array(dense, ctx=ctx, dtype=dtype).tostype("csr")
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
    """An NDArray of normal numbers, or a random sparse one."""
    if stype == "default":
        return mx.nd.array(random_arrays(shape), dtype=dtype, ctx=ctx)
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
    """A random sparse array, with given rows or a given value if wanted; AssertionError for an unknown `stype`."""
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
    """`create_sparse_array`; without rows unless they are given, where `stype` is 'row_sparse'."""
    return create_sparse_array(shape, stype, density=0.0 if stype == "row_sparse" else density, **kwargs)


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """0, 1, …, size - 1."""
    return mx.nd.arange(0, size, dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """`rows` by `columns`: each row full of its number."""
    return mx.nd.broadcast_to(mx.nd.arange(0, rows, dtype=dtype).reshape((rows, 1)), shape=(rows, columns))


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix."""
    return mx.nd.array(np.eye(size))


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices."""
    return mx.nd.array(np.stack([np.eye(size)] * 2))


# ---- small helpers of tests


def np_reduce(dat: np.ndarray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> np.ndarray:
    """A NumPy reduction over several axes, one after the other."""
    axes = [axis] if isinstance(axis, int) else list(range(dat.ndim)) if axis is None else list(axis)
    out = dat
    for i in sorted(axes, reverse=True):
        out = numpy_reduce_func(out, axis=i)
    return out.reshape([1 if i in axes else d for i, d in enumerate(dat.shape)]) if keepdims else out


def collapse_sum_like(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sums `a` down to `shape`: what broadcasting's gradient does."""
    extra = a.ndim - len(shape)
    assert extra >= 0, f"collapse_sum_like: shape {shape} has more dimensions than {a.shape}"
    if 0 in shape or a.size == 0:
        return np.zeros(shape, dtype=a.dtype)
    axes = [*range(extra), *(i + extra for i, d in enumerate(shape) if d != a.shape[i + extra])]
    assert all(shape[i - extra] == 1 for i in axes if i >= extra), f"collapse_sum_like: {a.shape} to {shape}"
    return np.sum(a, axis=tuple(axes)).reshape(shape)


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share memory, found out by writing to the first."""
    array1[:] += 1
    shared = same(array1.asnumpy(), array2.asnumpy())
    array1[:] -= 1
    return shared and same(array1.asnumpy(), array2.asnumpy())


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Any = None, atol: Any = None) -> None:
    """`assert_almost_equal` of arrays, tuples of them, or None."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for a, b in zip(t1, t2, strict=True):
            compare_ndarray_tuple(a, b, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """AssertionError unless two optimizers make the same step from the same weights, gradients and states.

    A list as `shape`: the second optimizer updates all arrays at once, the first one by one.
    """

    def pair(s: tuple[int, ...], stype: str) -> tuple[Any, Any]:
        if stype == "default":
            b = mx.random.uniform(shape=s, ctx=default_context(), dtype=dtype)
            return b.copy(), b
        b = rand_ndarray(s, stype, density=1, dtype=dtype)
        return b.tostype("default"), b

    many = isinstance(shape, list)
    shapes = shape if many else [shape]
    weights = [pair(s, w_stype) for s in shapes]
    grads = [pair(s, g_stype) for s in shapes]
    states1 = [opt1.create_state_multi_precision(i, w) for i, (w, _) in enumerate(weights)]
    states2 = [opt2.create_state_multi_precision(i, w) for i, (_, w) in enumerate(weights)]
    if compare_states:
        compare_ndarray_tuple(tuple(states1), tuple(states2))
    for i, ((w, _), (g, _), s) in enumerate(zip(weights, grads, states1, strict=True)):
        opt1.update_multi_precision(i, w, g, s)
    second_w, second_g = [w for _, w in weights], [g for _, g in grads]
    if many:
        opt2.update_multi_precision(list(range(len(shapes))), second_w, second_g, states2)
    else:
        opt2.update_multi_precision(0, second_w[0], second_g[0], states2[0])
    if compare_states:
        compare_ndarray_tuple(tuple(states1), tuple(states2), rtol, atol)
    for a, b in weights:
        assert_almost_equal(a, b, rtol=rtol, atol=atol)


def is_cd_run() -> bool:
    """Whether this is a run of MXNet's own release machinery."""
    return os.environ.get("CD_JOB") == "1"


def has_tvm_ops() -> bool:
    """Whether operators made by TVM are there: no."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """Whether all operators run on the current context: yes."""
    return True


# ---- checks of random generators


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[Any], list[float]]:
    """Intervals of equal probability of the distribution with quantile function `ppf`, and that probability."""
    assert nbuckets > 0, "gen_buckets_probs_with_ppf: nbuckets must be positive"
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(zip(ends[:-1], ends[1:], strict=True)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Callable[[int], Any], mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the samples' mean is within three standard errors of `mu`."""
    mean = np.array(generator(nsamples)).mean()
    return bool(abs(mean - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: Callable[[int], Any], sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the samples' variance is within three standard errors of that of a normal distribution."""
    variance = np.array(generator(nsamples)).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * np.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Callable[[int], Any], buckets: list[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """p-value, observed and expected counts of samples in buckets: intervals, or values of a discrete distribution."""
    try:
        from scipy import stats
    except ImportError:
        raise ImportError("chi_square_check needs SciPy, which is not installed") from None
    assert isinstance(buckets, list) and len(probs) == len(buckets), "chi_square_check: one probability per bucket"
    samples = np.array(generator(nsamples))
    expected = (nsamples * np.array(probs, dtype=np.float32)).astype(np.int32)
    if isinstance(buckets[0], (list, tuple)):
        ends = np.array(buckets, dtype=np.float32).ravel()
        ids = np.searchsorted(ends, samples, side="right") // 2
        observed = np.array([(ids == i).sum() for i in range(len(buckets))])
    else:
        observed = np.array([(samples == value).sum() for value in buckets])
    # counts that do not add up to the same number are no test
    scaled = expected * (observed.sum() / max(expected.sum(), 1))
    return stats.chisquare(f_obs=observed, f_exp=scaled)[1], observed, expected


def verify_generator(
    generator: Callable[[int], Any],
    buckets: list[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """p-values of `nrepeat` tests; AssertionError where too few of them are above `alpha`."""
    runs = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in runs]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        raise AssertionError(f"the samples do not follow the distribution: p={values}, counts {runs[-1][1:]}")
    return values


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: list[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """AssertionError unless a block gives the same values and gradients before and after `hybridize()`."""
    net = net_builder(prefix="net_")
    net.initialize()
    results = []
    for hybridize in (False, True):
        if hybridize:
            net.hybridize()
        inputs = [x.copy() for x in data_l]
        for x in inputs:
            x.attach_grad()
        with mx.autograd.record():
            out = net(*inputs)
        if test_grad:
            out.backward(out)
        results.append([out.asnumpy()] + [x.grad.asnumpy() for x in inputs if test_grad])
    for a, b in zip(*results, strict=True):
        assert_almost_equal(a, b, rtol=rtol, atol=atol)
    if numpy_func is not None:
        assert_almost_equal(results[0][0], numpy_func(*[x.asnumpy() for x in data_l]), rtol=rtol, atol=atol)


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Downloads a file unless it is there; the path. See `gluon.utils.download`."""
    name = fname or url.split("/")[-1]
    path = os.path.join(dirname, name) if dirname else name
    from .gluon.utils import download as fetch

    logging.info("downloading %s to %s", url, path)
    return fetch(url, path=path, overwrite=overwrite, retries=retries)
