"""Settings of the process (`global_config`) and of each thread (`config`). The entries that the engine reads
(`ENGINE_ENTRIES`) are stored in the compiled module; all others, also those that programs add, in Python dictionaries.
Mirrors ``chainer.configuration``.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import Any, TextIO

import numpy

from compatgrad import _C
from compatgrad.core.configuration import scope

ENGINE_ENTRIES = ("debug", "enable_backprop", "lazy_grad_sum", "train", "type_check")


def _print_entries(obj, names, file):
    width = max(map(len, names), default=0)
    for name in sorted(names):
        file.write(f"{name:<{width}} {getattr(obj, name)}\n")


class GlobalConfig:
    """Settings of the whole process, by attribute. Any attribute may be added.

    Example:
        >>> chainer.global_config.train, chainer.global_config.dtype
        (True, dtype('float32'))

    Source: `chainer.configuration.GlobalConfig` of Chainer 7.8.1.
    """

    autotune = None
    compute_mode = None
    cudnn_deterministic = None
    cudnn_fast_batch_normalization = None
    debug = None
    dtype = None
    enable_backprop = None
    in_recomputing = None
    keep_graph_on_report = None
    lazy_grad_sum = None
    schedule_func = None
    train = None
    type_check = None
    use_cudnn = None
    use_cudnn_tensor_core = None
    use_ideep = None
    use_static_graph = None
    warn_nondeterministic = None
    _will_recompute = None

    def _names(self):
        return set(self.__dict__)

    def show(self, file: TextIO = sys.stdout) -> None:
        """Writes every entry and its value to `file`, sorted by name."""
        _print_entries(self, self._names(), file)


class LocalConfig:
    """Settings of the running thread; an entry that the thread has not set is looked up in `global_config`.

    Args:
        global_config: the GlobalConfig of the process.

    Example:
        >>> config = chainer.configuration.LocalConfig(chainer.global_config)
        >>> config.train = False
        >>> config.train, chainer.global_config.train, config.dtype
        (False, True, dtype('float32'))

    Source: `chainer.configuration.LocalConfig` of Chainer 7.8.1.
    """

    def __init__(self, global_config: GlobalConfig) -> None:
        object.__setattr__(self, "_global", global_config)
        object.__setattr__(self, "_local", threading.local())

    def __getattr__(self, name):
        local = self._local.__dict__
        return local[name] if name in local else getattr(self._global, name)

    def __setattr__(self, name, value):
        setattr(self._local, name, value)

    def __delattr__(self, name):
        delattr(self._local, name)

    def _names(self):
        return self._global._names() | set(self._local.__dict__)

    def show(self, file: TextIO = sys.stdout) -> None:
        """Writes every entry and its value in this thread to `file`, sorted by name."""
        _print_entries(self, self._names(), file)


class _EngineGlobalConfig(GlobalConfig):
    """The class of `global_config`: the engine's entries are properties that read and set the compiled module's."""

    def _names(self):
        return super()._names().union(ENGINE_ENTRIES)


class _EngineLocalConfig(LocalConfig):
    """The class of `config`, with the same properties."""

    def __setattr__(self, name, value):
        if name in ENGINE_ENTRIES:
            _C.set_mode(name, bool(value))
        else:
            setattr(self._local, name, value)

    def __delattr__(self, name):
        if name not in ENGINE_ENTRIES:
            delattr(self._local, name)
        elif _C.get_mode_raw(name) is None:
            raise AttributeError(f"this thread has no value of its own for {name!r}")
        else:
            _C.set_mode(name, None)


def _define_engine_entries():
    get_default, set_default, get = _C.get_default_mode, _C.set_default_mode, _C.get_mode
    for name in ENGINE_ENTRIES:
        setattr(
            _EngineGlobalConfig,
            name,
            property(
                lambda self, name=name: get_default(name),
                lambda self, value, name=name: set_default(name, bool(value)),
            ),
        )
        setattr(_EngineLocalConfig, name, property(lambda self, name=name: get(name)))


_define_engine_entries()

# an error about a missing entry shows the class's name, which is the original's
for _class in (_EngineGlobalConfig, _EngineLocalConfig):
    _class.__name__ = _class.__name__.removeprefix("_Engine")
del _class

global_config = _EngineGlobalConfig()
config = _own_config = _EngineLocalConfig(global_config)


class using_config(scope):
    """Sets an entry of this thread inside a `with` block and restores it, also after an exception.

    Args:
        name: that of the entry.
        value: its value within the block.
        config: the LocalConfig to change.

    Example:
        >>> with chainer.using_config("train", False):
        ...     chainer.config.train
        False
        >>> chainer.config.train
        True

    Source: `chainer.using_config` of Chainer 7.8.1.
    """

    def __init__(self, name: str, value: Any, config: LocalConfig = config) -> None:
        self.config = config
        self.name = name
        self.value = value
        super().__init__(self._settings)

    def _settings(self):
        if self.name in ENGINE_ENTRIES and self.config is _own_config:
            return {self.name: bool(self.value)}, (), None
        return {}, ((self.config._local, self.name, self.value),), None

    def _recreate_cm(self):
        return using_config(self.name, self.value, self.config)


class _Mixed16:
    dtype = numpy.dtype(numpy.float16)

    def __repr__(self):
        return "dtype('mixed16')"


#: The value of `config.dtype` for computation in float16 with parameters and sums in float32.
mixed16 = _Mixed16()


def get_dtype(dtype: Any = None, map_mixed16: Any = None) -> numpy.dtype:
    """The NumPy dtype that a dtype, or the configuration, stands for.

    Args:
        dtype: a dtype, its name, or `chainer.mixed16`; None is the configuration's `dtype`.
        map_mixed16: the result instead of `mixed16`; None: float16.

    Returns:
        numpy.dtype.

    Raises:
        TypeError: `dtype` is no dtype.

    Example:
        >>> chainer.get_dtype(), chainer.get_dtype("float64")
        (dtype('float32'), dtype('float64'))
        >>> chainer.get_dtype(chainer.mixed16), chainer.get_dtype(chainer.mixed16, map_mixed16=np.float32)
        (dtype('float16'), dtype('float32'))

    Source: `chainer.get_dtype` of Chainer 7.8.1.
    """
    if dtype is None:
        dtype = config.dtype
    if dtype is mixed16 and map_mixed16 is not None:
        dtype = map_mixed16
    return numpy.dtype(dtype)


def get_compute_mode() -> Any:
    """The configuration's `compute_mode`.

    Returns:
        None, or the value set by the program; functions do not read it.

    Example:
        >>> chainer.get_compute_mode() is None
        True

    Source: `chainer.get_compute_mode` of Chainer 7.8.1.
    """
    return config.compute_mode


def is_debug() -> bool:
    """Whether this thread is in debug mode.

    Returns:
        bool.

    Example:
        >>> chainer.is_debug()
        False

    Source: `chainer.is_debug` of Chainer 7.8.1.
    """
    return _C.get_mode("debug")


def set_debug(debug: bool) -> None:
    """Switches the debug mode of this thread; the same as assigning the configuration's `debug`.

    In debug mode gradients are checked for NaN, and errors of backward tell where forward was called.

    Args:
        debug: bool.

    Raises:
        TypeError: `debug` has no truth value.

    Example:
        >>> chainer.set_debug(True)
        >>> chainer.is_debug()
        True
        >>> chainer.set_debug(False)

    Source: `chainer.set_debug` of Chainer 7.8.1.
    """
    config.debug = debug


class DebugMode:
    """Debug mode inside a `with` block. Deprecated, with a DeprecationWarning: use `using_config('debug', ...)`.

    Args:
        debug: whether the block is in debug mode.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True):
        ...     mode = chainer.DebugMode(True)
        >>> with mode:
        ...     chainer.is_debug()
        True

    Source: `chainer.DebugMode` of Chainer 7.8.1.
    """

    def __init__(self, debug: bool) -> None:
        warnings.warn(
            'chainer.DebugMode is deprecated; use chainer.using_config("debug", ...)',
            DeprecationWarning,
            stacklevel=2,
        )
        self._using = using_config("debug", debug)

    def __enter__(self):
        self._using.__enter__()

    def __exit__(self, *args):
        self._using.__exit__(*args)


def _flag(name, default):
    return bool(int(os.environ.get(name, default)))


def _default_dtype():
    name = os.environ.get("CHAINER_DTYPE", "float32")
    if name == "mixed16":
        return mixed16
    if name not in ("float16", "float32", "float64"):
        raise TypeError(f"CHAINER_DTYPE must be float16, float32, float64 or mixed16, not {name!r}")
    return numpy.dtype(name)


def _set_defaults():
    g = global_config
    g.debug = _flag("CHAINER_DEBUG", "0")
    g.enable_backprop = True
    g.lazy_grad_sum = _flag("CHAINER_LAZY_GRAD_SUM", "0")
    g.train = True
    g.type_check = _flag("CHAINER_TYPE_CHECK", "1")

    g.autotune = False
    g.compute_mode = None
    g.cudnn_deterministic = False
    g.cudnn_fast_batch_normalization = _flag("CHAINER_CUDNN_FAST_BATCH_NORMALIZATION", "0")
    g.dtype = _default_dtype()
    g.in_recomputing = False
    g.keep_graph_on_report = _flag("CHAINER_KEEP_GRAPH_ON_REPORT", "0")
    g.schedule_func = None
    g.use_cudnn = os.environ.get("CHAINER_USE_CUDNN", "auto")
    g.use_cudnn_tensor_core = "auto"
    g.use_ideep = os.environ.get("CHAINER_USE_IDEEP", "never")
    g.use_static_graph = True
    g.warn_nondeterministic = False
    g._will_recompute = False


_set_defaults()
