"""NumPy semantics (on or off per thread), devices and environment variables."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import threading
import types
from collections.abc import Callable
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.configuration import Settings

from ._docs import sharing

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "makedirs",
    "np_array",
    "np_shape",
    "np_ufunc_legal_option",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
]


class _State(threading.local):
    """The flags of NumPy semantics of one thread."""

    shape = False
    array = False


_state = _State()
_announced: set[str] = set()


def _announce(what: str) -> None:
    if what not in _announced:
        _announced.add(what)
        logging.info("NumPy %s semantics is on; leave it on while mx.np and mx.npx are used", what)


def get_gpu_count() -> int:
    """The number of GPUs.

    Returns:
        The number, 0 without CUDA.

    Example:
        >>> mx.util.get_gpu_count() >= 0
        True

    Source: `mxnet.util.get_gpu_count` of MXNet 1.9.1.
    """
    return torch.cuda.device_count()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total memory of a GPU.

    Args:
        gpu_dev_id: number of the GPU, from 0.

    Returns:
        The two numbers, in bytes.

    Raises:
        RuntimeError: there is no GPU of that number.

    Example:
        >>> if mx.util.get_gpu_count():
        ...     free, total = mx.util.get_gpu_memory(0)

    Source: `mxnet.util.get_gpu_memory` of MXNet 1.9.1.
    """
    if not 0 <= gpu_dev_id < get_gpu_count():
        raise RuntimeError(f"get_gpu_memory: there is no GPU {gpu_dev_id}; the number of GPUs is {get_gpu_count()}")
    return torch.cuda.mem_get_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int:
    """The compute capability of a GPU as one number: ten times the major version plus the minor one.

    Args:
        ctx: the context of the GPU.

    Returns:
        The number, such as 80.

    Raises:
        ValueError: `ctx` is no GPU.
        OSError: there is no driver of CUDA.

    Example:
        >>> mx.util.get_cuda_compute_capability(mx.cpu())
        Traceback (most recent call last):
            ...
        ValueError: get_cuda_compute_capability: expected a gpu context, got cpu(0)

    Source: `mxnet.util.get_cuda_compute_capability` of MXNet 1.9.1.
    """
    if ctx.device_type != "gpu":
        raise ValueError(f"get_cuda_compute_capability: expected a gpu context, got {ctx}")
    if not torch.cuda.is_available():
        raise OSError("get_cuda_compute_capability: no CUDA driver was found")
    major, minor = torch.cuda.get_device_capability(ctx.device_id)
    return major * 10 + minor


def set_np_shape(active: bool) -> bool:
    """Turns NumPy's shapes, which may be () or hold 0, on or off in this thread.

    Args:
        active: on or off.

    Returns:
        What it was before, a bool.

    Raises:
        ValueError: it is turned off while NumPy's arrays are on, which need it.

    Example:
        >>> old = mx.set_np_shape(True)
        >>> mx.is_np_shape(), mx.set_np_shape(old)
        (True, True)

    Source: `mxnet.set_np_shape` of MXNet 1.9.1.
    """
    if active:
        _announce("shape")
    elif is_np_array():
        raise ValueError("set_np_shape: NumPy's shapes must stay on while its arrays are on; see npx.reset_np()")
    previous, _state.shape = _state.shape, bool(active)
    return previous


def is_np_shape() -> bool:
    """Whether NumPy's shapes, which may be () or hold 0, are on in this thread.

    Returns:
        A bool.

    Example:
        >>> with mx.np_shape():
        ...     print(mx.is_np_shape())
        True

    Source: `mxnet.is_np_shape` of MXNet 1.9.1.
    """
    return _state.shape


def is_np_array() -> bool:
    """Whether NumPy's arrays are on in this thread: Gluon gives `mx.np.ndarray` then.

    Returns:
        A bool.

    Example:
        >>> with mx.np_array():
        ...     print(mx.is_np_array())
        True

    Source: `mxnet.is_np_array` of MXNet 1.9.1.
    """
    return _state.array


class _Scope(_C.Scope):
    """A scope that sets one of the two flags; the same object may be entered again."""

    def __init__(self, name: str, active: bool | None) -> None:
        self._name, self._active = name, active

    def _settings(self) -> Settings:
        active = getattr(_state, self._name) if self._active is None else bool(self._active)
        return {}, ((_state, self._name, active),), self


class _ShapeScope(_Scope):
    def _settings(self) -> Settings:
        if self._active is False and is_np_array() and is_np_shape():
            set_np_shape(False)  # raises
        return super()._settings()


def np_shape(active: bool = True) -> _Scope:
    """A scope in which NumPy's shapes, which may be () or hold 0, are on or off.

    Args:
        active: on or off.

    Returns:
        A context manager.

    Raises:
        ValueError: when the scope is entered, it turns them off while NumPy's arrays are on.

    Example:
        >>> with mx.np_shape():
        ...     print(nd.zeros(()).shape)
        ()

    Source: `mxnet.np_shape` of MXNet 1.9.1.
    """
    return _ShapeScope("shape", active)


class _NumpyArrayScope(_Scope):
    """The scope that `np_array` returns, under MXNet's name, which libraries use; `_current`: the thread's flags."""

    _current = _state

    def __init__(self, is_np_array: bool) -> None:
        super().__init__("array", is_np_array)
        self._is_np_array = is_np_array


def np_array(active: bool = True) -> _NumpyArrayScope:
    """A scope in which NumPy's arrays are on or off: Gluon gives `mx.np.ndarray` where they are on.

    Args:
        active: on or off.

    Returns:
        A context manager.

    Raises:
        Nothing.

    Example:
        >>> with mx.np_array():
        ...     print(mx.is_np_array())
        True

    Source: `mxnet.np_array` of MXNet 1.9.1.
    """
    return _NumpyArrayScope(active)


def _use(func: Any, scope: Callable[[], _Scope], name: str) -> Any:
    """Wraps `func`, or every method and property of a class, in `scope`."""
    if inspect.isclass(func):
        for key, member in inspect.getmembers(
            func, lambda m: inspect.isfunction(m) or inspect.ismethod(m) or isinstance(m, property)
        ):
            if isinstance(member, types.MethodType):
                continue  # class methods and static methods are not changed
            if not isinstance(member, property):
                static = isinstance(inspect.getattr_static(func, key), staticmethod)
                wrapped = _use(member, scope, name)
                setattr(func, key, staticmethod(wrapped) if static else wrapped)
            elif member.fget is not None:
                setattr(func, key, property(_use(member.fget, scope, name), member.fset, member.fdel, member.__doc__))
        return func
    if not callable(func):
        raise TypeError(f"{name}: expected a class or something callable, got {type(func)}")

    @functools.wraps(func)
    def within(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return func(*args, **kwargs)

    return within


_DECORATOR = """
    Args:
        func: the function or the class.

    Returns:
        A function around it, or the class itself.

    Raises:
        TypeError: `func` is neither a class nor callable.

    Source: `mxnet.{name}` of MXNet 1.9.1.
    """


@sharing(_DECORATOR)
def use_np_shape(func: Any) -> Any:
    """Decorates a function, or all methods of a class: NumPy's shapes are on while it runs.

    Example:
        >>> @mx.use_np_shape
        ... def scalar():
        ...     return nd.zeros(()).shape
        >>> scalar()
        ()
    """
    return _use(func, np_shape, "use_np_shape")


@sharing(_DECORATOR)
def use_np_array(func: Any) -> Any:
    """Decorates a function, or all methods of a class: NumPy's arrays are on while it runs.

    Example:
        >>> mx.use_np_array(mx.is_np_array)()
        True
    """
    return _use(func, np_array, "use_np_array")


@sharing(_DECORATOR)
def use_np(func: Any) -> Any:
    """Decorates a function, or all methods of a class: NumPy's shapes and arrays are on while it runs.

    Example:
        >>> @mx.use_np
        ... def both():
        ...     return mx.is_np_shape(), mx.is_np_array()
        >>> both()
        (True, True)
    """
    return use_np_shape(use_np_array(func))


def set_np(shape: bool = True, array: bool = True) -> None:
    """Turns NumPy's shapes and arrays on or off in this thread.

    Args:
        shape: whether shapes may be () or hold 0.
        array: whether Gluon gives `mx.np.ndarray`; this needs the shapes.

    Raises:
        ValueError: arrays without shapes.

    Example:
        >>> mx.util.set_np()
        >>> mx.is_np_shape(), mx.is_np_array()
        (True, True)
        >>> mx.util.reset_np()

    Source: `mxnet.util.set_np` of MXNet 1.9.1.
    """
    if array and not shape:
        raise ValueError("set_np: NumPy's arrays need its shapes; shape=False with array=True is not possible")
    if array:
        _announce("array")
    _state.array = bool(array)
    set_np_shape(shape)


def reset_np() -> None:
    """Turns NumPy's shapes and arrays off in this thread.

    Example:
        >>> mx.util.reset_np()
        >>> mx.is_np_shape(), mx.is_np_array()
        (False, False)

    Source: `mxnet.util.reset_np` of MXNet 1.9.1.
    """
    set_np(shape=False, array=False)


def set_module(module: str | None) -> Callable[[Any], Any]:
    """The decorator that sets the name of the module from which programs import a function.

    Args:
        module: the name, None to leave the function's own.

    Returns:
        The decorator, which gives back the function.

    Raises:
        Nothing; the decorator raises AttributeError for what has no such name.

    Example:
        >>> @mx.util.set_module("mxnet.numpy")
        ... def double(x): return 2 * x
        >>> double.__module__
        'mxnet.numpy'

    Source: `mxnet.util.set_module` of MXNet 1.9.1.
    """

    def decorate(func: Any) -> Any:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


_UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_UFUNC_DTYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether NumPy would take a value for a keyword argument of its ufuncs.

    Args:
        key: name of the argument: "where", "casting", "order", "dtype" or "subok".
        value: the value.

    Returns:
        A bool; false for another name.

    Raises:
        Nothing.

    Example:
        >>> mx.util.np_ufunc_legal_option("casting", "safe"), mx.util.np_ufunc_legal_option("subok", 3)
        (True, False)

    Source: `mxnet.util.np_ufunc_legal_option` of MXNet 1.9.1.
    """
    if key == "casting":
        return value in ("no", "equiv", "safe", "same_kind", "unsafe")
    if key == "order":
        return isinstance(value, str)
    if key == "dtype":
        return getattr(value, "__name__", value) in _UFUNC_DTYPES
    if key == "subok":
        return isinstance(value, bool)
    return key == "where"


def _check_ufunc_options(name: str, options: dict[str, Any]) -> None:
    """Raises for options of NumPy's ufuncs that do not have their default values."""
    for key, value in options.items():
        if key not in _UFUNC_DEFAULTS:
            raise TypeError(f"{name}: '{key}' is no keyword argument of it")
        default = _UFUNC_DEFAULTS[key]
        if value is default or (isinstance(value, (str, bool)) and value == default):
            continue
        if np_ufunc_legal_option(key, value):
            raise NotImplementedError(f"{name}: {key}={value} is not supported, only {key}={default}")
        raise TypeError(f"{name}: {key}={value} is not understood")


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the keyword arguments of NumPy's ufuncs to a function of one array; their default values are accepted.

    Args:
        func: a function `(x, out=None)`.

    Returns:
        A function `(x, out=None, **kwargs)`. It raises NotImplementedError for another value than the default, and
            TypeError for one, or a name, that NumPy does not take either.

    Raises:
        Nothing.

    Example:
        >>> def double(x, out=None): return 2 * x
        >>> mx.util.wrap_np_unary_func(double)(4, order="K")
        8

    Source: `mxnet.util.wrap_np_unary_func` of MXNet 1.9.1.
    """

    @functools.wraps(func)
    def wrapped(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(func.__name__, kwargs)
        return func(x, out=out)

    return wrapped


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the keyword arguments of NumPy's ufuncs to a function of two arrays; their default values are accepted.

    Args:
        func: a function `(x1, x2, out=None)`.

    Returns:
        A function `(x1, x2, out=None, **kwargs)`. It raises NotImplementedError for another value than the default, and
            TypeError for one, or a name, that NumPy does not take either.

    Raises:
        Nothing.

    Example:
        >>> def add(x1, x2, out=None): return x1 + x2
        >>> mx.util.wrap_np_binary_func(add)(4, 5, where=True)
        9

    Source: `mxnet.util.wrap_np_binary_func` of MXNet 1.9.1.
    """

    @functools.wraps(func)
    def wrapped(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(func.__name__, kwargs)
        return func(x1, x2, out=out)

    return wrapped


def getenv(name: str) -> str | None:
    """The value of an environment variable.

    Args:
        name: its name.

    Returns:
        The value; None if it is not set.

    Raises:
        TypeError: `name` is no str.

    Example:
        >>> mx.util.setenv("MXNET_EXAMPLE", "1")
        >>> mx.util.getenv("MXNET_EXAMPLE")
        '1'
        >>> mx.util.setenv("MXNET_EXAMPLE", None)

    Source: `mxnet.util.getenv` of MXNet 1.9.1.
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable, or removes it.

    Args:
        name: its name.
        value: the value; None removes the variable.

    Raises:
        TypeError: `name` or `value` is no str.

    Example:
        >>> mx.util.setenv("MXNET_EXAMPLE", "1")
        >>> mx.util.setenv("MXNET_EXAMPLE", None)
        >>> print(mx.util.getenv("MXNET_EXAMPLE"))
        None

    Source: `mxnet.util.setenv` of MXNet 1.9.1.
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def makedirs(d: str) -> None:
    """Makes a folder and its parents, unless they exist.

    Args:
        d: the path; "~" is the user's home.

    Raises:
        OSError: it cannot be made.

    Example:
        >>> import os
        >>> mx.util.makedirs("models/first")
        >>> os.path.isdir("models/first")
        True

    Source: `mxnet.util.makedirs` of MXNet 1.9.1.
    """
    os.makedirs(os.path.expanduser(d), exist_ok=True)
