"""Helpers for tests: comparison with tolerances by dtype, random arrays, scopes, and checks of symbols.

There is no `__all__`: tests that import everything with a star expect `mx` and `np` too.
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

from ._test_arrays import *  # noqa: F403
from ._test_arrays import rand_ndarray
from ._test_data import *  # noqa: F403
from ._test_files import *  # noqa: F403
from ._test_generators import *  # noqa: F403
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


def default_context() -> Context:
    """The context that tests run on: the current one.

    Returns:
        The context.

    Example:
        >>> mx.test_utils.default_context()
        cpu(0)

    Source: `mxnet.test_utils.default_device` of MXNet 1.9.1.
    """
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes a context that of everything created without one, in this thread.

    Args:
        ctx: the context; None for the CPU again.

    Raises:
        Nothing.

    Example:
        >>> mx.test_utils.set_default_context(mx.cpu(1))
        >>> nd.zeros(2).context
        cpu(1)
        >>> mx.test_utils.set_default_context(None)

    Source: `mxnet.test_utils.set_default_device` of MXNet 1.9.1.
    """
    Context._local.value = ctx


# MXNet 2's names
default_device = default_context
set_default_device = set_default_context


def list_gpus() -> range:
    """The indices of the available GPUs.

    Returns:
        A range from 0.

    Example:
        >>> len(mx.test_utils.list_gpus()) == mx.num_gpus()
        True

    Source: `mxnet.test_utils.list_gpus` of MXNet 1.9.1.
    """
    return range(get_gpu_count())


def assert_exception(f: Callable[..., Any], exception_type: Any, *args: Any, **kwargs: Any) -> None:
    """Checks that a call raises.

    Args:
        f: what is called.
        exception_type: the type of the exception, or a tuple of types.
        *args: arguments of `f` by position.
        **kwargs: arguments of `f` by name.

    Raises:
        AssertionError: `f` raised nothing. An exception of another type passes through.

    Example:
        >>> mx.test_utils.assert_exception(int, ValueError, "three")

    Source: `mxnet.test_utils.assert_exception` of MXNet 1.9.1.
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} raised no {exception_type}")


@contextmanager
def discard_stderr() -> Iterator[None]:
    """A scope in which output to standard error, from C code too, is discarded.

    Returns:
        A context manager.

    Example:
        >>> import os
        >>> with mx.test_utils.discard_stderr():
        ...     written = os.write(2, b"a warning")

    Source: `mxnet.test_utils.discard_stderr` of MXNet 1.9.1.
    """
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError):  # stderr is captured and is no file
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
    """A scope with environment variables set; the earlier values are restored at its end.

    Args:
        *args: the name and the value of a variable, or a dict from names to values; None as a value removes the
            variable.

    Returns:
        A context manager.

    Raises:
        AssertionError: the arguments are neither a dict nor a name and a value.
        TypeError: a name or a value is no str.

    Example:
        >>> with mx.test_utils.environment("MXNET_EXAMPLE", "1"):
        ...     print(mx.util.getenv("MXNET_EXAMPLE"))
        1
        >>> print(mx.util.getenv("MXNET_EXAMPLE"))
        None

    Source: `mxnet.test_utils.environment` of MXNet 1.9.1.
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
    """A decorator for a test that may fail at random: one of several runs must pass.

    Args:
        n: how many times it runs at most.

    Returns:
        The decorator.

    Raises:
        AssertionError: `n` is not positive. The test's own AssertionError of the last time passes through, and other
            exceptions at once.

    Example:
        >>> left = [False, True]
        >>> @mx.test_utils.retry(2)
        ... def test(): assert left.pop(0)
        >>> test()

    Source: `mxnet.test_utils.retry` of MXNet 1.9.1.
    """
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


def np_reduce(dat: np.ndarray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> np.ndarray:
    """A reduction of NumPy over several axes, one after the other.

    Args:
        dat: the array.
        axis: an axis, several, or None for all.
        keepdims: whether the axes stay, with length 1.
        numpy_reduce_func: the reduction, called as `f(x, axis=i)`.

    Returns:
        The reduced array.

    Raises:
        ValueError: the array has no such axis (`numpy.exceptions.AxisError`).

    Example:
        >>> mx.test_utils.np_reduce(np.arange(6).reshape(2, 3), (0, 1), True, np.sum)
        array([[15]])

    Source: `mxnet.test_utils.np_reduce` of MXNet 1.9.1.
    """
    axes = [axis] if isinstance(axis, int) else list(range(dat.ndim)) if axis is None else list(axis)
    out = dat
    for i in sorted(axes, reverse=True):
        out = numpy_reduce_func(out, axis=i)
    return out.reshape([1 if i in axes else d for i, d in enumerate(dat.shape)]) if keepdims else out


def collapse_sum_like(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sums an array down to a shape from which it could be broadcast, as the gradient of broadcasting does.

    Args:
        a: the array.
        shape: the shape; where an axis differs from that of `a`, it is 1.

    Returns:
        An array of that shape.

    Raises:
        AssertionError: `shape` cannot be broadcast to that of `a`.

    Example:
        >>> mx.test_utils.collapse_sum_like(np.ones((2, 3)), (3,))
        array([2., 2., 2.])

    Source: `mxnet.test_utils.collapse_sum_like` of MXNet 1.9.1.
    """
    extra = a.ndim - len(shape)
    assert extra >= 0, f"collapse_sum_like: shape {shape} has more dimensions than {a.shape}"
    if 0 in shape or a.size == 0:
        return np.zeros(shape, dtype=a.dtype)
    axes = [*range(extra), *(i + extra for i, d in enumerate(shape) if d != a.shape[i + extra])]
    assert all(shape[i - extra] == 1 for i in axes if i >= extra), f"collapse_sum_like: {a.shape} to {shape}"
    return np.sum(a, axis=tuple(axes)).reshape(shape)


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share memory, which is tested by writing to the first.

    Args:
        array1, array2: the arrays; their values stay.

    Returns:
        A bool.

    Raises:
        AttributeError: one is no NDArray.

    Example:
        >>> x = nd.ones(2)
        >>> mx.test_utils.same_array(x, x[:]), mx.test_utils.same_array(x, x.copy())
        (True, False)

    Source: `mxnet.test_utils.same_array` of MXNet 1.9.1.
    """
    array1[:] += 1
    shared = same(array1.asnumpy(), array2.asnumpy())
    array1[:] -= 1
    return shared and same(array1.asnumpy(), array2.asnumpy())


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Any = None, atol: Any = None) -> None:
    """`assert_almost_equal` of arrays, or of tuples of them.

    Args:
        t1, t2: an array, a tuple of such arguments, or None, with which nothing is compared.
        rtol, atol: the tolerances; None for those of the dtype.

    Raises:
        AssertionError: arrays differ.
        ValueError: tuples are of different lengths.

    Example:
        >>> mx.test_utils.compare_ndarray_tuple((nd.ones(2), None), (nd.ones(2), nd.zeros(1)))

    Source: `mxnet.test_utils.compare_ndarray_tuple` of MXNet 1.9.1.
    """
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
    """Checks that two optimizers make the same step from the same weights, gradients and states.

    Args:
        opt1, opt2: the optimizers.
        shape: shape of the weight; a list of shapes: `opt2` updates all weights at once, `opt1` one by one.
        dtype: dtype of weights and gradients.
        w_stype, g_stype: storage types of the second optimizer's weights and gradients.
        rtol, atol: the tolerances.
        compare_states: whether states have to be equal too.
        ntensors: accepted, without effect.

    Raises:
        AssertionError: weights or states differ.

    Example:
        >>> adam, other = mx.optimizer.Adam(), mx.optimizer.Adam(lazy_update=False)
        >>> mx.test_utils.compare_optimizer(adam, other, (2, 3), np.float32)

    Source: `mxnet.test_utils.compare_optimizer` of MXNet 1.9.1.
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
    """Whether this is a run of MXNet's own release machinery: the environment variable CD_JOB is 1.

    Returns:
        A bool.

    Example:
        >>> with mx.test_utils.environment("CD_JOB", "1"):
        ...     print(mx.test_utils.is_cd_run())
        True

    Source: `mxnet.test_utils.is_cd_run` of MXNet 1.9.1.
    """
    return os.environ.get("CD_JOB") == "1"


def has_tvm_ops() -> bool:
    """Whether operators built by TVM are available: no.

    Returns:
        False.

    Example:
        >>> mx.test_utils.has_tvm_ops()
        False

    Source: `mxnet.test_utils.has_tvm_ops` of MXNet 1.9.1.
    """
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """Whether all operators run on the current context: yes.

    Returns:
        True.

    Example:
        >>> mx.test_utils.is_op_runnable()
        True

    Source: `mxnet.test_utils.is_op_runnable` of MXNet 1.9.1.
    """
    return True


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: list[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Checks that a block gives the same values and gradients before and after `hybridize()`.

    Args:
        net_builder: makes the block, called as `net_builder(prefix="net_")`.
        data_l: the inputs, a list of arrays.
        numpy_func: function of NumPy arrays that the values are compared with too; None for none.
        test_grad: whether gradients of the inputs are compared.
        rtol, atol: the tolerances.

    Raises:
        AssertionError: values or gradients differ.

    Example:
        >>> mx.test_utils.check_gluon_hybridize_consistency(
        ...     lambda prefix: gluon.nn.HybridLambda("tanh", prefix=prefix), [nd.array([0, 1])], np.tanh)

    Source: `mxnet.test_utils.check_gluon_hybridize_consistency` of MXNet 1.9.1.
    """
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
    """Downloads a file, unless it exists; see `gluon.utils.download`.

    Args:
        url: its address.
        fname: its name here; None for the last part of the address.
        dirname: the folder; None for the current one.
        overwrite: downloads even if the file exists.
        retries: how many times it is tried.

    Returns:
        The path.

    Raises:
        OSError: the address cannot be read (`urllib.error.URLError`), or the file not written.

    Example:
        >>> import pathlib
        >>> written = pathlib.Path("here.txt").write_text("three")
        >>> mx.test_utils.download(pathlib.Path("here.txt").absolute().as_uri(), "there.txt")
        ... # doctest: +ELLIPSIS
        Downloading there.txt from file:///...
        'there.txt'

    Source: `mxnet.test_utils.download` of MXNet 1.9.1.
    """
    name = fname or url.split("/")[-1]
    path = os.path.join(dirname, name) if dirname else name
    from .gluon.utils import download as fetch

    logging.info("downloading %s to %s", url, path)
    return fetch(url, path=path, overwrite=overwrite, retries=retries)
