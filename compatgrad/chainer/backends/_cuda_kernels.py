"""CUDA kernels that programs define and CuPy compiles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from compatgrad.chainer.backends._cupy import available, check_cuda_available, cupy
from compatgrad.core import user_kernels


def memoize(for_each_device: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator that caches a function's results by its arguments, which must be hashable, like `cupy.memoize`.
    Without CUDA nothing is cached.

    Args:
        for_each_device: True caches a result for each CUDA device.

    Returns:
        The decorator.

    Raises:
        TypeError: with CUDA, when the function is called, an argument is not hashable.

    Example:
        >>> @chainer.backends.cuda.memoize()
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6

    Source: `chainer.backends.cuda.memoize` of Chainer 7.8.1.
    """
    if available:
        return cupy.memoize(for_each_device)

    def decorator(f):
        @functools.wraps(f)
        def call(*args, **kwargs):
            return f(*args, **kwargs)

        return call

    return decorator


def clear_memo() -> None:
    """Empties the caches of all functions that `memoize` decorates.

    Example:
        >>> chainer.backends.cuda.clear_memo()

    Source: `chainer.backends.cuda.clear_memo` of Chainer 7.8.1.
    """
    if available:
        cupy.clear_memo()


@memoize()
def elementwise(in_params: str, out_params: str, operation: str, name: str, **kwargs: Any) -> Any:
    """Makes an element-wise kernel. The same arguments give the same kernel. Kernels run on torch's current stream;
    besides CuPy's arrays they take, without a copy, tensors and Variables that require no gradient.

    Args:
        in_params: types and names of the inputs, as "float32 x, T y".
        out_params: types and names of the results.
        operation: CUDA code of an element.
        name: name of the kernel.
        **kwargs: options of `cupy.ElementwiseKernel`.

    Returns:
        The kernel: a function of arrays that returns a CuPy array.

    Raises:
        RuntimeError: CUDA is not available.
        TypeError: when the kernel is called, an argument is on the CPU.
        ValueError: when the kernel is called, an argument requires a gradient.

    Example:
        square = chainer.backends.cuda.elementwise("T x", "T y", "y = x * x", "square")
        square(cupy.arange(3))  # array([0, 1, 4])

    Source: `chainer.backends.cuda.elementwise` of Chainer 7.8.1.
    """
    check_cuda_available()
    kernel = cupy.ElementwiseKernel(in_params, out_params, operation, name, **kwargs)
    return user_kernels.Kernel(cupy, kernel, name)


@memoize()
def reduce(
    in_params: str,
    out_params: str,
    map_expr: str,
    reduce_expr: str,
    post_map_expr: str,
    identity: Any,
    name: str,
    **kwargs: Any,
) -> Any:
    """Makes a kernel that reduces arrays along axes. The same arguments give the same kernel. The kernel takes the same
    kinds of arrays as those of `elementwise`.

    Args:
        in_params: types and names of the inputs.
        out_params: types and names of the results.
        map_expr: CUDA expression of an element before the reduction.
        reduce_expr: CUDA expression of the elements `a` and `b`.
        post_map_expr: CUDA statement that sets the result from `a`.
        identity: the initial value of the reduction.
        name: name of the kernel.
        **kwargs: options of `cupy.ReductionKernel`.

    Returns:
        The kernel: a function of arrays and `axis` that returns a CuPy array.

    Raises:
        RuntimeError: CUDA is not available.

    Example:
        norm = chainer.backends.cuda.reduce("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
        norm(cupy.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)  # array([ 5., 10.])

    Source: `chainer.backends.cuda.reduce` of Chainer 7.8.1.
    """
    check_cuda_available()
    kernel = cupy.ReductionKernel(in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name, **kwargs)
    return user_kernels.Kernel(cupy, kernel, name)


@memoize()
def raw(code: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """Compiles a kernel from CUDA source. The same arguments give the same kernel. It takes what kernels of
    `elementwise` take.

    Args:
        code: the source.
        name: name of the function in it.
        *args: options of `cupy.RawKernel`.
        **kwargs: options of `cupy.RawKernel`.

    Returns:
        The kernel: a function of grid, block and a tuple of arguments.

    Raises:
        RuntimeError: CUDA is not available.

    Example:
        code = 'extern "C" __global__ void fill(float* x) { x[threadIdx.x] = threadIdx.x; }'
        x = cupy.empty(4, "float32")
        chainer.backends.cuda.raw(code, "fill")((1,), (4,), (x,))

    Source: `chainer.backends.cuda.raw` of Chainer 7.8.1.
    """
    check_cuda_available()
    return user_kernels.Kernel(cupy, cupy.RawKernel(code, name, *args, **kwargs), name)


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Decorator that fuses a function of CuPy arrays into one kernel, like `cupy.fuse`; it is used with or without
    arguments. Without CUDA the function stays as it is.

    Args:
        *args: the function, if the decorator has no arguments.
        **kwargs: options of `cupy.fuse`, such as `kernel_name`.

    Returns:
        The function, or a decorator if the function is not given.

    Raises:
        TypeError: with CUDA, an option is not known.

    Example:
        >>> @chainer.backends.cuda.fuse()
        ... def scale(x, y):
        ...     return x * y + 1
        >>> scale(np.array([1.0, 2.0]), 3.0)
        array([4., 7.])

    Source: `chainer.backends.cuda.fuse` of Chainer 7.8.1.
    """
    if available:
        return cupy.fuse(*args, **kwargs)
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return lambda f: f
