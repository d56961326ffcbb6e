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
    """What this thread says of NumPy semantics."""

    shape = False
    array = False


_state = _State()
_announced: set[str] = set()


def _announce(what: str) -> None:
    if what not in _announced:
        _announced.add(what)
        logging.info("NumPy %s semantics is on; leave it on while mx.np and mx.npx are used", what)


def get_gpu_count() -> int:
    """How many GPUs there are."""
    return torch.cuda.device_count()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total bytes of one GPU; RuntimeError where there is none of that number."""
    if not 0 <= gpu_dev_id < get_gpu_count():
        raise RuntimeError(f"get_gpu_memory: there is no GPU {gpu_dev_id}, {get_gpu_count()} are there")
    return torch.cuda.mem_get_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Any) -> int:
    """Ten times the major plus the minor compute capability of a GPU context; ValueError for another context."""
    if ctx.device_type != "gpu":
        raise ValueError(f"get_cuda_compute_capability: expected a gpu context, got {ctx}")
    if not torch.cuda.is_available():
        raise OSError("get_cuda_compute_capability: no CUDA driver was found")
    major, minor = torch.cuda.get_device_capability(ctx.device_id)
    return major * 10 + minor


def set_np_shape(active: bool) -> bool:
    """Turns NumPy's shapes (0-d and empty arrays) on or off in this thread and returns what it was before.

    ValueError when it is turned off while NumPy's arrays are on: they need it.
    """
    if active:
        _announce("shape")
    elif is_np_array():
        raise ValueError("set_np_shape: NumPy's shapes cannot go while its arrays are on; see npx.reset_np()")
    previous, _state.shape = _state.shape, bool(active)
    return previous


def is_np_shape() -> bool:
    """Whether NumPy's shapes are on in this thread."""
    return _state.shape


def is_np_array() -> bool:
    """Whether NumPy's arrays are on in this thread."""
    return _state.array


class _Scope:
    """One of the two flags, for the length of a `with`; the same object may be entered again."""

    def __init__(self, name: str, active: bool | None) -> None:
        self._name, self._active = name, active
        self._previous: list[bool] = []

    def __enter__(self) -> _Scope:
        self._previous.append(getattr(_state, self._name))
        if self._active is not None:
            setattr(_state, self._name, bool(self._active))
        return self

    def __exit__(self, *exc: Any) -> None:
        setattr(_state, self._name, self._previous.pop())


class _ShapeScope(_Scope):
    def __enter__(self) -> _Scope:
        if self._active is False and is_np_array() and is_np_shape():
            set_np_shape(False)  # says why not
        return super().__enter__()


def np_shape(active: bool = True) -> _Scope:
    """A scope in which NumPy's shapes are on or off."""
    return _ShapeScope("shape", active)


class _NumpyArrayScope(_Scope):
    """What `np_array` returns, under the name by which libraries know it; `_current` are the flags of each thread."""

    _current = _state

    def __init__(self, is_np_array: bool) -> None:
        super().__init__("array", is_np_array)
        self._is_np_array = is_np_array


def np_array(active: bool = True) -> _NumpyArrayScope:
    """A scope in which NumPy's arrays are on or off: Gluon then gives `mx.np.ndarray`."""
    return _NumpyArrayScope(active)


def _use(func: Any, scope: Callable[[], _Scope], name: str) -> Any:
    """`func`, or every method and property of a class, with `scope` around it."""
    if inspect.isclass(func):
        for key, member in inspect.getmembers(
            func, lambda m: inspect.isfunction(m) or inspect.ismethod(m) or isinstance(m, property)
        ):
            if isinstance(member, types.MethodType):
                continue  # of the class, not of its objects
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


def use_np_shape(func: Any) -> Any:
    """Decorates a function or a class: NumPy's shapes are on while it runs."""
    return _use(func, np_shape, "use_np_shape")


def use_np_array(func: Any) -> Any:
    """Decorates a function or a class: NumPy's arrays are on while it runs."""
    return _use(func, np_array, "use_np_array")


def use_np(func: Any) -> Any:
    """Decorates a function or a class: NumPy's shapes and arrays are on while it runs."""
    return use_np_shape(use_np_array(func))


def set_np(shape: bool = True, array: bool = True) -> None:
    """Turns NumPy semantics on in this thread; ValueError for arrays without shapes."""
    if array and not shape:
        raise ValueError("set_np: NumPy's arrays need its shapes; shape=False with array=True is not possible")
    if array:
        _announce("array")
    _state.array = bool(array)
    set_np_shape(shape)


def reset_np() -> None:
    """Turns NumPy semantics off in this thread."""
    set_np(shape=False, array=False)


def set_module(module: str | None) -> Callable[[Any], Any]:
    """Decorates a function with the name of the module it is shown under."""

    def decorate(func: Any) -> Any:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


_UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_UFUNC_DTYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether NumPy would take this keyword argument of a ufunc."""
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
    """Options of NumPy's ufuncs are accepted with their default values only."""
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
    """Adds the keyword arguments of NumPy's ufuncs to a function of one array."""

    @functools.wraps(func)
    def wrapped(x: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(func.__name__, kwargs)
        return func(x, out=out)

    return wrapped


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the keyword arguments of NumPy's ufuncs to a function of two arrays."""

    @functools.wraps(func)
    def wrapped(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs:
            _check_ufunc_options(func.__name__, kwargs)
        return func(x1, x2, out=out)

    return wrapped


def getenv(name: str) -> str | None:
    """The value of an environment variable, None where it is not set."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable, or removes it with None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def makedirs(d: str) -> None:
    """Makes a directory and those above it; one that is there already is no error."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)
